// The Gantt chart. Boxes are filled pixel by pixel into an image: what is narrower than a pixel tints it by the share that it
// covers, so hundreds of thousands of boxes cost about as much as the pixels they fall on.

const JOB_COLOURS = ['#7398c1', '#f0a661', '#7fb877', '#e38a8c', '#8cc5c0', '#ecd07a', '#bd98ba', '#f2b6bc', '#b49a86', '#98add9', '#a9c78f', '#db98b0'];
const SIZE_COLOURS = ['#dbe7f3', '#b9d3e8', '#8fb9da', '#6399c6', '#3d78ad', '#1f5488'];
const SLOW_COLOURS = ['#a9d3c5', '#d3dfa0', '#f0d27a', '#f0a661', '#db6a5f'];

// paints says how boxes may be coloured: list has the colours, of(j) the index of a job's, key what the colours mean.
function paints(data) {
  const hash = n => { let h = Math.imul(n + 1, 0x9e3779b1); h ^= h >>> 15; h = Math.imul(h, 0x85ebca6b); return (h ^ h >>> 13) >>> 0; };
  const gpus = j => data.jobs.workers[j] * data.jobs.milli[j] / 1000;
  const bin = (edges, v) => { let i = 0; while (i < edges.length && v >= edges[i]) i++; return i; };
  return {
    job: { list: JOB_COLOURS, of: j => hash(j) % JOB_COLOURS.length },
    user: { list: JOB_COLOURS, of: j => data.jobs.userOf[j] % JOB_COLOURS.length },
    size: { list: SIZE_COLOURS, of: j => bin([1, 2, 4, 8, 16], gpus(j)), key: ['under 1 GPU', '1', '2–3', '4–7', '8–15', '16 and more'] },
    slowdown: { list: SLOW_COLOURS, of: (j, s) => bin([1.5, 3, 10, 30], outcome(s, j).slowdown), key: ['slowdown under 1.5', 'under 3', 'under 10', 'under 30', '30 and more'] },
  };
}

// ink returns a colour as the image holds it: ABGR.
function ink(css) {
  const h = css.trim().replace('#', '');
  const full = h.length === 3 ? [...h].map(c => c + c).join('') : h;
  const n = parseInt(full, 16);
  return (0xff000000 | (n & 0xff) << 16 | (n & 0xff00) | n >>> 16) >>> 0;
}

const FONT = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

// mix returns a colour that is b by a share and a by the rest.
function mix(a, b, share) {
  const w = Math.round(share * 256), v = 256 - w;
  const rb = ((a & 0xff00ff) * v + (b & 0xff00ff) * w >>> 8) & 0xff00ff;
  const g = ((a & 0xff00) * v + (b & 0xff00) * w >>> 8) & 0xff00;
  return (0xff000000 | rb | g) >>> 0;
}

function isLight(colour) { return 0.299 * (colour & 255) + 0.587 * (colour >>> 8 & 255) + 0.114 * (colour >>> 16 & 255) > 128; }

// theme reads the colours of the page as they are now.
function theme() {
  const style = getComputedStyle(document.documentElement), css = name => style.getPropertyValue('--' + name).trim();
  return { css, dark: !isLight(ink(css('idle'))), idle: ink(css('idle')), gap: ink(css('gap')), closed: ink(css('closed')), lent: ink(css('lent')), down: ink(css('down')) };
}

// gutterFor is the width that names of servers get beside their rows.
function gutterFor(cluster) {
  const ctx = document.createElement('canvas').getContext('2d');
  ctx.font = FONT;
  let widest = 0;
  for (const v of cluster.servers) if (v.name.length * 9 > widest) widest = Math.max(widest, ctx.measureText(v.name).width);
  return Math.round(Math.min(innerWidth < 560 ? 72 : 140, Math.max(46, widest + 26)));
}

// fit gives a canvas the pixels that its place on the screen has.
function fit(canvas, width, height) {
  const dpr = Math.min(window.devicePixelRatio || 1, 3), w = Math.round(width * dpr), h = Math.round(height * dpr);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; canvas.style.height = height + 'px'; }
  const ctx = canvas.getContext('2d');
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.clearRect(0, 0, w, h);
  ctx.setTransform(w / width, 0, 0, h / height, 0, 0);
  return { ctx, dpr: w / width };
}

// drawGantt draws what a view shows of a schedule. view: {t0, t1, r0, r1}: times in ticks, rows. job is highlighted, -1 for none.
function drawGantt(canvas, s, view, paint, colours, job, width, height) {
  const { ctx, dpr } = fit(canvas, width, height);
  const gutter = view.gutter, left = Math.round(gutter * dpr), w = canvas.width - left, h = canvas.height;
  if (w <= 0) return;
  if (!canvas.image || canvas.image.width !== w || canvas.image.height !== h) canvas.image = ctx.createImageData(w, h);
  const image = canvas.image, pixels = new Uint32Array(image.data.buffer);
  const perTick = w / (view.t1 - view.t0), perRow = h / (view.r1 - view.r0);
  const X = t => (t - view.t0) * perTick, Y = r => (r - view.r0) * perRow;
  const { servers, row } = s.cluster;
  const gap = perRow >= 4 ? Math.max(1, Math.round(dpr)) : 0;

  // fill paints [x0, x1) x [y0, y1): the pixels at its ends by how much of them it covers.
  const fill = (x0, x1, y0, y1, colour) => {
    if (x1 <= 0 || x0 >= w || y1 <= 0 || y0 >= h) return;
    x0 = Math.max(0, x0); x1 = Math.min(w, x1); y0 = Math.max(0, y0); y1 = Math.min(h, y1);
    const a = Math.ceil(x0), z = Math.floor(x1);
    for (let y = y0; y < y1; y++) {
      const line = y * w;
      if (a > z) { pixels[line + z] = mix(pixels[line + z], colour, x1 - x0); continue; }
      if (a > x0) pixels[line + a - 1] = mix(pixels[line + a - 1], colour, a - x0);
      if (z < x1) pixels[line + z] = mix(pixels[line + z], colour, x1 - z);
      if (z > a) pixels.fill(colour, line + a, line + z);
    }
  };
  const hatch = (x0, x1, y0, y1, colour, step) => {
    x0 = Math.max(0, Math.round(x0)); x1 = Math.min(w, Math.round(x1)); y0 = Math.max(0, y0); y1 = Math.min(h, y1);
    for (let y = y0; y < y1; y++) for (let x = x0 + (step - (x0 + y) % step) % step; x < x1; x += step) pixels[y * w + x] = colour;
  };
  const span = (r0, r1) => { const a = Math.round(Y(r0)); return [a, Math.max(a + 1, Math.round(Y(r1)))]; };

  pixels.fill(colours.idle);
  const seen = (v) => row[v + 1] > view.r0 && row[v] < view.r1;
  const stripe = Math.max(4, Math.round(6 * dpr));
  servers.forEach((v, i) => {
    if (!v.inference || !seen(i)) return;
    const [y0, y1] = span(row[i], row[i + 1]);
    fill(0, w, y0, y1, mix(colours.idle, colours.closed, 0.5));
    hatch(0, w, y0, y1, mix(colours.closed, colours.down, 0.12), stripe);
  });
  for (let i = 0; i < s.loans.server.length; i++) {
    const v = s.loans.server[i];
    if (!seen(v)) continue;
    const [y0, y1] = span(row[v], row[v + 1]);
    fill(X(s.loans.from[i]), X(s.loans.to[i]), y0, y1, colours.lent);
  }
  const bright = paint.list.map(c => colours.dark ? mix(ink(c), colours.idle, 0.18) : ink(c)), faint = bright.map(c => mix(colours.idle, c, 0.28));
  const labels = [], roomy = perRow >= 11 * dpr || perRow * 8 >= 14 * dpr;
  for (let v = 0; v < servers.length; v++) {
    if (!seen(v)) continue;
    eachBox(s, v, view.t0, view.t1, (b, stay) => {
      const j = s.job[stay], r = row[v] + s.gpu[b];
      let [y0, y1] = span(r, r + s.count[b]);
      if (s.milli[b] < 1000) {
        const top = Y(r) + s.slot[b] / 1000 * perRow;
        y0 = Math.round(top);
        y1 = Math.max(y0 + 1, Math.round(top + s.milli[b] / 1000 * perRow));
      }
      if (y1 - y0 > 3 && gap) y1 -= gap;
      const x0 = X(s.from[stay]);
      let x1 = X(s.to[stay]);
      if (x1 - x0 > 4 * dpr) x1 -= dpr;
      const k = paint.of(j, s);
      fill(x0, x1, y0, y1, job < 0 || j === job ? bright[k] : faint[k]);
      if (roomy && labels.length < 600 && y1 - y0 >= 11 * dpr && Math.min(x1, w) - Math.max(x0, 0) >= 26 * dpr) {
        labels.push([Math.max(x0, 0), Math.min(x1, w), y0, y1, j, job < 0 || j === job ? bright[k] : faint[k]]);
      }
    });
  }
  for (let i = 0; i < s.downs.server.length; i++) {
    const v = s.downs.server[i], g = s.downs.gpu[i];
    if (!seen(v)) continue;
    const [y0, y1] = g ? span(row[v] + g - 1, row[v] + g) : span(row[v], row[v + 1]);
    const x0 = X(s.downs.from[i]), x1 = X(s.downs.to[i]);
    fill(x0, Math.max(x1, x0 + 1), y0, y1, colours.down);
  }
  for (let v = 1; v < servers.length; v++) {
    if (seen(v) && servers[v].gpus * perRow >= 4 * dpr) { const y = Math.round(Y(row[v])); fill(0, w, y - 1, y, colours.gap); }
  }
  ctx.putImageData(image, left, 0);

  ctx.save();
  ctx.textBaseline = 'middle';
  ctx.font = FONT;
  for (const [x0, x1, y0, y1, j, colour] of labels) {
    const room = (x1 - x0) / dpr - 8, name = s.jobs.name[j];
    if (name.length * 5 > room && ctx.measureText(name).width > room) continue;
    ctx.fillStyle = isLight(colour) ? '#1c2126' : '#fff';
    ctx.fillText(name, gutter + x0 / dpr + 4, (y0 + y1) / 2 / dpr + 0.5);
  }
  drawLabels(ctx, s, view, gutter, height, colours);
  ctx.restore();
}

// drawLabels names the servers beside their rows, as many as there is room for, and numbers the GPUs where rows are tall.
function drawLabels(ctx, s, view, gutter, height, colours) {
  const { servers, row } = s.cluster, perRow = height / (view.r1 - view.r0);
  ctx.fillStyle = colours.css('quiet');
  ctx.textAlign = 'right';
  const numbers = perRow >= 13;
  let free = 0;
  for (let v = 0; v < servers.length; v++) {
    const y0 = Math.max(0, (row[v] - view.r0) * perRow), y1 = Math.min(height, (row[v + 1] - view.r0) * perRow);
    if (y1 <= 0 || y0 >= height) continue;
    const y = Math.min(height - 6, Math.max(6, (y0 + y1) / 2));
    if (y - 6 >= free) {
      free = y + 9;
      ctx.fillText(cut(ctx, servers[v].name, gutter - (numbers ? 24 : 10)), gutter - (numbers ? 22 : 7), y);
    }
    if (!numbers) continue;
    for (let g = 0; g < servers[v].gpus; g++) {
      const at = (row[v] + g + 0.5 - view.r0) * perRow;
      if (at > 4 && at < height - 4) ctx.fillText(String(g), gutter - 7, at);
    }
  }
}

// cut shortens a name to a width: its end tells servers apart, so that stays.
function cut(ctx, name, width) {
  if (ctx.measureText(name).width <= width) return name;
  let n = name.length;
  while (n > 1 && ctx.measureText('…' + name.slice(-n)).width > width) n--;
  return '…' + name.slice(-n);
}

// boxAt returns the stay that stands at a time and a row, -1 if none.
function stayAt(s, t, r, slack) {
  const { servers, row } = s.cluster;
  if (r < 0 || r >= s.cluster.rows) return -1;
  const v = firstAbove(row, r, 0, servers.length + 1) - 1;
  const gpu = Math.floor(r) - row[v], slot = (r - Math.floor(r)) * 1000;
  let found = -1, nearest = Infinity;
  eachBox(s, v, t - slack, t + slack, (b, stay) => {
    if (gpu < s.gpu[b] || gpu >= s.gpu[b] + s.count[b]) return;
    if (s.milli[b] < 1000 && (slot < s.slot[b] || slot >= s.slot[b] + s.milli[b])) return;
    const far = t < s.from[stay] ? s.from[stay] - t : t >= s.to[stay] ? t - s.to[stay] + 1 : 0;
    if (far < nearest) { nearest = far; found = stay; }
  });
  return found;
}
