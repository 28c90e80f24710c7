// Looks at the site in a browser, from files and with no network: a phone's and a desk's width, both colour schemes. Fails on
// requests that leave the site, on pages wider than the screen, on what axe-core calls a violation of WCAG 2 A and AA, on a search
// that finds nothing, and on a page that cannot be reached by the keyboard.
//
//   node site/check.mjs SITE PICTURES     SITE_PAGES=all looks at every page
import fs from "node:fs";
import path from "node:path";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const [site, pictures] = process.argv.slice(2).map((p) => path.resolve(p));
const require = createRequire(path.join(process.env.SITE_NODE, "x.js"));
const puppeteer = require("puppeteer-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const all = fs.readdirSync(site, {recursive: true}).filter((f) => f.endsWith(".html") && f !== "404.html").sort();
const some = ["index.html", "try.html", "concepts.html", "evaluation.html", "training.html", "kubernetes.html", "cli/clustergym_train.html"];
const pages = process.env.SITE_PAGES === "all" ? all : some;
const screens = {phone: {width: 390, height: 844, isMobile: true, hasTouch: true}, desk: {width: 1280, height: 800}};

let failures = 0;
const fail = (where, what) => { failures++; console.log(`${where}: ${what}`); };

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--allow-file-access-from-files"],
});
fs.mkdirSync(pictures, {recursive: true});
for (const [screen, viewport] of Object.entries(screens)) {
  for (const scheme of ["light", "dark"]) {
    const context = await browser.createBrowserContext(); // the theme stores the colour scheme that it began with
    const page = await context.newPage();
    await page.setViewport(viewport);
    await page.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
    let where = "";
    page.on("request", (r) => { if (!/^(file|data|blob|about):/.test(r.url())) fail(where, `requests ${r.url()}`); });
    page.on("pageerror", (e) => fail(where, e.message));
    for (const name of pages) {
      where = `${name} (${screen}, ${scheme})`;
      await page.goto(pathToFileURL(path.join(site, name)).href, {waitUntil: "load"});
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wide > 0) fail(where, `${wide} px wider than the screen`);
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa"], resultTypes: ["violations"]}));
      for (const v of found.violations) fail(where, `${v.id}: ${v.help}: ${v.nodes.length} times, such as ${v.nodes[0].html.slice(0, 120)}`);
      if (some.slice(0, 4).includes(name)) await page.screenshot({path: path.join(pictures, `${name}-${screen}-${scheme}.png`)});
    }
    await context.close();
  }
}

// The search finds a word without a server, and the keyboard alone leads from it to a page.
const page = await browser.newPage();
await page.setViewport(screens.desk);
await page.goto(pathToFileURL(path.join(site, "index.html")).href, {waitUntil: "load"});
await page.keyboard.press("f");
await page.waitForFunction(() => document.activeElement?.matches(".md-search__input"), {timeout: 10000}).catch(() => fail("search", "no focus by the key f"));
await page.keyboard.type("makespan", {delay: 30});
const hit = await page.waitForSelector(".md-search-result__link", {timeout: 20000}).catch(() => null);
if (!hit) {
  fail("search", "finds nothing for makespan");
} else {
  await page.keyboard.press("ArrowDown");
  await Promise.all([page.waitForNavigation({timeout: 10000}).catch(() => fail("search", "Enter leads nowhere")), page.keyboard.press("Enter")]);
  if (page.url().endsWith("/index.html")) fail("search", "stays on the first page");
}
// The simulator runs in the page, without a request, and refuses what is beyond its limits.
const play = await browser.newPage();
await play.setViewport(screens.phone);
play.on("request", (r) => { if (!/^(file|data|blob|about):/.test(r.url())) fail("simulator", `requests ${r.url()}`); });
play.on("pageerror", (e) => fail("simulator", e.message));
await play.goto(pathToFileURL(path.join(site, "try.html")).href, {waitUntil: "load"});
const simulate = async (until) => {
  await play.click("#simulator button");
  await play.waitForFunction((text) => document.getElementById("simulator-says").textContent.includes(text), {timeout: 60000}, until)
    .catch(async () => fail("simulator", `does not say "${until}" but "${await play.$eval("#simulator-says", (e) => e.textContent)}"`));
};
await simulate("simulated in");
const rows = await play.$$eval("#simulator-shown tbody tr", (all) => all.map((r) => r.textContent));
const drawn = await play.$eval("#simulator-shown pre", (e) => e.textContent);
if (rows.length !== 2 || !rows[0].startsWith("fifo") || !rows[1].startsWith("srtf") || rows[0].slice(4) === rows[1].slice(4)) fail("simulator", `shows ${rows}`);
if (!drawn.includes("fifo: mean JCT") || !drawn.includes("srtf: mean JCT")) fail("simulator", `draws ${drawn}`);
const over = await play.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
if (over > 0) fail("simulator", `${over} px wider than the screen`);
await play.evaluate(axe);
const faults = await play.evaluate(() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa"], resultTypes: ["violations"]}));
for (const v of faults.violations) fail("simulator", `${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 120)}`);
await play.screenshot({path: path.join(pictures, "simulator.png"), fullPage: true});
await play.$eval("#simulator", (form) => { form.noValidate = true; form.elements.servers.value = "33"; });
await simulate("servers: 33, want 1 to 32");
await browser.close();
console.log(`${pages.length} pages, ${Object.keys(screens).length} widths, 2 colour schemes: ${failures} failures`);
process.exit(failures ? 1 : 0);
