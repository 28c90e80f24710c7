// The form of try.md. On the first simulation it loads the simulator, which is built from Go, from files beside this one: nothing
// comes from another server. The simulator checks the request and its limits; it also draws the schedules, as text.
(() => {
  const form = document.getElementById("simulator");
  if (!form) return;
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const say = (text) => { document.getElementById("simulator-says").textContent = text; };
  const shown = document.getElementById("simulator-shown");

  const load = (name) => new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = here + name;
    script.onload = done;
    script.onerror = () => fail(new Error(`${name} is not there`));
    document.head.append(script);
  });

  // The program is text within a script, because a page that was opened from a file may not fetch other files.
  const start = async () => {
    await load("wasm_exec.js");
    await load("program.js");
    const packed = Uint8Array.from(atob(window.clustergymProgram), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const go = new window.Go();
    const {instance} = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), go.importObject);
    go.run(instance);
  };
  let ready;

  const time = (s) => s < 120 ? `${s.toFixed(0)} s` : s < 7200 ? `${(s / 60).toFixed(1)} min` : s < 172800 ? `${(s / 3600).toFixed(1)} h` : `${(s / 86400).toFixed(1)} d`;

  const cell = (row, kind, text) => { const e = document.createElement(kind); e.textContent = text; row.append(e); };

  const show = (answer) => {
    shown.replaceChildren();
    const table = document.createElement("table");
    table.className = "simulator"; // the theme makes tables without a class scroll by themselves
    const head = table.createTHead().insertRow(), body = table.createTBody();
    for (const name of ["policy", "mean JCT", "p99 JCT", "mean queueing", "makespan", "GPU utilisation", "preemptions"]) cell(head, "th", name);
    for (const s of answer.schedules) {
      const row = body.insertRow();
      cell(row, "th", s.policy);
      for (const t of [s.mean_jct_s, s.p99_jct_s, s.mean_queueing_s, s.makespan_s]) cell(row, "td", time(t));
      cell(row, "td", `${(100 * s.gpu_utilisation).toFixed(0)} %`);
      cell(row, "td", s.preemptions);
    }
    const scroll = document.createElement("div"); // a narrow screen scrolls the table and not the page, by keyboard, too
    scroll.className = "simulator-table";
    scroll.tabIndex = 0;
    scroll.append(table);
    shown.append(scroll);
    const drawn = document.createElement("pre"); // scrolls like the table
    drawn.className = "simulator-table";
    drawn.tabIndex = 0;
    drawn.setAttribute("aria-label", "The schedules as text");
    drawn.setAttribute("role", "region");
    drawn.textContent = answer.text;
    shown.append(drawn);
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const value = (name) => form.elements[name].value, button = form.querySelector("button");
    button.disabled = true;
    try {
      say("Loading the simulator, 4 MB ...");
      await (ready ??= start());
      const began = performance.now();
      const out = window.clustergymSimulate(JSON.stringify({
        policies: [value("first"), value("second")], servers: Number(value("servers")), gpus_per_server: Number(value("gpus")),
        jobs: Number(value("jobs")), load: Number(value("load")), seed: Number(value("seed")),
      }));
      if (out.error) {
        shown.replaceChildren();
        say(out.error);
      } else {
        show(JSON.parse(out.answer));
        say(`${value("jobs")} jobs under two policies, simulated in ${((performance.now() - began) / 1000).toFixed(2)} s`);
      }
    } catch (error) {
      ready = undefined;
      say(`The simulator did not start: ${error.message}`);
    }
    button.disabled = false;
  });
})();
