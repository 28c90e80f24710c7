// Line charts and the chart of differences, as SVG that is drawn again when its width changes.

// responsive calls draw(width) now and whenever the width of an element changes.
function responsive(el, draw) {
  let last = 0;
  const check = () => {
    const w = Math.round(el.clientWidth);
    if (w > 0 && w !== last) { last = w; draw(w); }
  };
  check();
  new ResizeObserver(check).observe(el);
}

function legendOf(series, svg) {
  return element('div', { className: 'legend' }, ...series.map((s, i) => {
    const sample = drawn('svg', { class: 'swatch', viewBox: '0 0 22 10', width: 22, height: 10, 'aria-hidden': 'true' });
    sample.append(drawn('path', { d: 'M1 5h20', class: lookClass(s.index) }));
    const item = element('span', {}, sample, s.name);
    const light = on => {
      const chart = svg();
      chart.classList.toggle('some', on);
      for (const line of chart.querySelectorAll('.line')) line.classList.toggle('on', on && line.dataset.series === String(i));
    };
    item.onpointerenter = () => light(true);
    item.onpointerleave = () => light(false);
    return item;
  }));
}

// lineChart draws series of {name, index, x, y, dots} into el. axes: {x, y} with {lo, hi, log, ticks: [[value, label]], label,
// show}. reference is a y to mark.
function lineChart(el, series, axes, reference) {
  let svg;
  const frame = element('div');
  const tip = element('div', { className: 'tip', hidden: true });
  el.append(legendOf(series, () => svg), frame, tip);
  responsive(frame, width => {
    const height = Math.round(Math.min(340, Math.max(230, width * 0.56)));
    const box = { left: 46, right: width - 10, top: 10, bottom: height - 46 };
    const scale = (a, lo, hi) => {
      const f = a.log ? Math.log : v => v;
      return v => lo + (f(v) - f(a.lo)) / (f(a.hi) - f(a.lo)) * (hi - lo);
    };
    const x = scale(axes.x, box.left, box.right), y = scale(axes.y, box.bottom, box.top);
    svg = drawn('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': axes.label });
    for (const [v, label] of axes.y.ticks) {
      svg.append(drawn('line', { class: 'grid', x1: box.left, x2: box.right, y1: y(v), y2: y(v) }));
      svg.append(drawn('text', { x: box.left - 8, y: y(v) + 4, 'text-anchor': 'end' }, label));
    }
    let free = -1e9; // where the next label of the axis may begin
    for (const [v, label] of axes.x.ticks) {
      const at = x(v), half = label.length * 3.4;
      svg.append(drawn('line', { class: 'grid', x1: at, x2: at, y1: box.top, y2: box.bottom }));
      if (at - half < free || at + half > width + 4) continue;
      free = at + half + 8;
      svg.append(drawn('text', { x: at, y: box.bottom + 18, 'text-anchor': 'middle' }, label));
    }
    svg.append(drawn('line', { class: 'base', x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
    svg.append(drawn('text', { x: (box.left + box.right) / 2, y: height - 6, 'text-anchor': 'middle' }, axes.x.label));
    if (reference !== undefined) svg.append(drawn('line', { class: 'ref', x1: box.left, x2: box.right, y1: y(reference), y2: y(reference) }));
    series.forEach((s, i) => {
      let d = '', pen = 'M';
      s.x.forEach((v, k) => {
        if (s.y[k] === null) { pen = 'M'; return; }
        d += pen + x(v).toFixed(1) + ' ' + y(s.y[k]).toFixed(1);
        pen = 'L';
      });
      svg.append(drawn('path', { class: 'line ' + (s.dots ? 'thin ' : '') + lookClass(s.index), 'data-series': i, d }));
      for (const p of s.dots || []) {
        if (p.y === null) continue;
        svg.append(drawn('circle', { class: 'dot', cx: x(p.x), cy: y(p.y), r: 4, style: `fill:var(--p${look(s.index).colour})` }));
      }
    });
    const cross = drawn('line', { class: 'cross', y1: box.top, y2: box.bottom, visibility: 'hidden' });
    svg.append(cross);
    frame.replaceChildren(svg);
    svg.onpointermove = e => {
      const px = e.clientX - svg.getBoundingClientRect().left;
      const inside = px >= box.left && px <= box.right;
      cross.setAttribute('visibility', inside ? 'visible' : 'hidden');
      tip.hidden = !inside;
      if (!inside) return;
      const xs = series[0].x.map(x);
      const near = s => { // the last point of a series at or before the pointer
        let k = 0;
        while (k + 1 < s.x.length && x(s.x[k + 1]) <= px) k++;
        return k;
      };
      const k = near(series[0]);
      cross.setAttribute('x1', xs[k]); cross.setAttribute('x2', xs[k]);
      const lines = series.map(s => [s, s.y[near(s)]]).filter(l => l[1] !== null && l[1] !== undefined).sort((a, b) => b[1] - a[1]);
      tip.replaceChildren(element('b', { textContent: axes.x.show(series[0].x[k]) }),
        ...lines.map(([s, v]) => element('div', { textContent: axes.y.show(v) + '  ' + s.name })));
      place(tip, el, px, frame.offsetTop + box.top + 6);
    };
    svg.onpointerleave = () => { cross.setAttribute('visibility', 'hidden'); tip.hidden = true; };
  });
}

// place puts a tip beside a point of an element, inside of it.
function place(tip, el, x, y) {
  const right = x + 16 + tip.offsetWidth > el.clientWidth;
  tip.style.left = Math.max(0, right ? x - 14 - tip.offsetWidth : x + 14) + 'px';
  tip.style.top = Math.max(0, y) + 'px';
}

function ticksOf(lo, hi, n, show, least = 0) {
  const step = niceStep(Math.max(least, (hi - lo) / n)), ticks = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++) ticks.push([k * step, show(k * step)]);
  return ticks;
}

function cdfChart(el, cdf, index) {
  const lo = cdf.x[0], hi = cdf.x[cdf.x.length - 1];
  const within = list => list.filter(m => m >= lo && m <= hi);
  let marks = within([0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 6 * 3600, DAY, 10 * DAY, 100 * DAY, 1000 * DAY]);
  if (marks.length < 4) marks = within(TIME_STEPS);
  lineChart(el, cdf.policy.map((name, i) => ({ name, index: index(name), x: cdf.x, y: cdf.y[i] })), {
    label: 'Cumulative distribution of job completion times',
    x: { lo, hi, log: true, ticks: marks.map(m => [m, short(m)]), label: 'JCT: finish − submit', show: duration },
    y: { lo: 0, hi: 1, ticks: [0, .25, .5, .75, 1].map(v => [v, 100 * v + ' %']), show: v => percent(v) },
  });
}

function curvesChart(el, curves, index) {
  const ys = curves.flatMap(c => [...(c.y || []), ...(c.validation || []).map(p => p.y)]).filter(v => v !== null);
  const xs = curves.flatMap(c => [...(c.x || []), ...(c.validation || []).map(p => p.x)]);
  if (ys.length === 0) { el.append(element('p', { className: 'quiet', textContent: 'No update has been made yet.' })); return; }
  let lo = Math.min(1, ...ys), hi = Math.max(1, ...ys);
  const pad = Math.max(0.02, (hi - lo) * 0.08);
  lo = Math.max(0, lo - pad); hi += pad;
  const first = Math.min(...xs), last = Math.max(...xs, first + 1);
  const digits = niceStep((hi - lo) / 5) < 0.05 ? 2 : niceStep((hi - lo) / 5) < 1 ? 2 : 0;
  lineChart(el, curves.map(c => ({ name: c.policy, index: index(c.policy), x: c.x || [], y: c.y || [], dots: c.validation || [] })), {
    label: 'Learning curves',
    x: { lo: first, hi: last, ticks: ticksOf(first, last, 8, v => group(v), 1), label: 'update', show: v => 'update ' + group(v) },
    y: { lo, hi, ticks: ticksOf(lo, hi, 5, v => v.toFixed(digits)), show: v => v.toFixed(3) },
  }, 1);
}

// forestChart draws, a policy a row, the mean difference from the baseline and its interval; a select chooses the metric.
function forestChart(el, metrics, index) {
  const frame = element('div');
  const select = element('select', { ariaLabel: 'Metric' }, ...metrics.map((m, i) => element('option', { value: i, textContent: m.label + ' ' + m.arrow })));
  el.append(element('div', { className: 'pick' }, select), frame);
  let width = 0;
  const draw = () => {
    const { rows, arrow } = metrics[select.value], line = 34;
    const ends = rows.flatMap(r => [r.mean, r.lo, r.hi]).filter(v => v !== undefined && v !== null);
    let lo = Math.min(0, ...ends), hi = Math.max(0, ...ends);
    const pad = Math.max(1, (hi - lo) * 0.06);
    lo -= pad; hi += pad;
    const names = Math.min(width * 0.38, 16 + 7.2 * Math.max(...rows.map(r => r.policy.length)));
    const box = { left: names + 8, right: width - 12, top: 6, bottom: 6 + line * rows.length };
    const x = v => box.left + (v - lo) / (hi - lo) * (box.right - box.left);
    const svg = drawn('svg', { class: 'chart', viewBox: `0 0 ${width} ${box.bottom + 44}`, height: box.bottom + 44, role: 'img', 'aria-label': 'Differences from the baseline' });
    for (const [v, label] of ticksOf(lo, hi, Math.max(3, Math.min(7, (box.right - box.left) / 60)), v => (v > 0 ? '+' : v < 0 ? '−' : '') + trim(Math.abs(v), 2))) {
      svg.append(drawn('line', { class: v === 0 ? 'base' : 'grid', x1: x(v), x2: x(v), y1: box.top, y2: box.bottom }));
      svg.append(drawn('text', { x: x(v), y: box.bottom + 18, 'text-anchor': 'middle' }, label));
    }
    const better = (arrow === '↓') ? '← better' : 'better →';
    svg.append(drawn('text', { x: (box.left + box.right) / 2, y: box.bottom + 38, 'text-anchor': 'middle' }, 'difference, % (' + better + ')'));
    rows.forEach((r, i) => {
      const y = box.top + line * (i + 0.5), colour = `var(--p${look(index(r.policy)).colour})`;
      const most = Math.floor(names / 7.2);
      const name = drawn('text', { class: 'name', x: names - 6, y: y + 4, 'text-anchor': 'end' }, r.policy.length > most ? r.policy.slice(0, most - 1) + '…' : r.policy);
      name.append(drawn('title', {}, r.policy));
      svg.append(name);
      if (r.lo !== undefined) svg.append(drawn('line', { class: 'whisker', x1: x(r.lo), x2: x(r.hi), y1: y, y2: y, style: 'stroke:' + colour }));
      const dot = drawn('circle', { cx: x(r.mean), cy: y, r: 5, class: r.bold ? 'dot' : 'hollow', style: r.bold ? 'fill:' + colour : 'stroke-width:2;stroke:' + colour });
      dot.append(drawn('title', {}, `${r.policy}: ${r.mean} %` + (r.lo === undefined ? '' : ` [${r.lo}, ${r.hi}]`)));
      svg.append(dot);
    });
    frame.replaceChildren(svg);
  };
  select.onchange = draw;
  responsive(frame, w => { width = w; draw(); });
}
