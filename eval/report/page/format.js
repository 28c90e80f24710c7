// What numbers and times look like. Times are in seconds here and everywhere outside the columns of a pack.

const DAY = 86400;

// duration writes a length of time in its two largest units: "1 d 3 h", "12 min 5 s", "4.2 s".
function duration(s) {
  if (s < 0) return '−' + duration(-s);
  if (s < 1 && s > 0) return Math.max(1, Math.round(s * 1000)) + ' ms';
  if (s < 60) return trim(s, 1) + ' s';
  const units = [[DAY, ' d'], [3600, ' h'], [60, ' min'], [1, ' s']];
  let i = units.findIndex(u => s >= u[0]);
  let whole = Math.round(s / units[i + 1][0]); // in the smaller unit, so that 59.7 s are not 60 s
  const per = units[i][0] / units[i + 1][0];
  if (i > 0 && whole >= units[i - 1][0] / units[i + 1][0]) return '1' + units[i - 1][1];
  const rest = whole % per;
  return Math.floor(whole / per) + units[i][1] + (rest ? ' ' + rest + units[i + 1][1] : '');
}

// short writes a round time of an axis in one unit.
function short(s) {
  if (s === 0) return '0';
  if (s < 1) return trim(s * 1000, 3) + ' ms';
  if (s < 60) return trim(s, 3) + ' s';
  if (s < 3600) return trim(s / 60, 3) + ' min';
  if (s < DAY) return trim(s / 3600, 3) + ' h';
  return trim(s / DAY, 2) + ' d';
}

// instant writes a time since the first submission so finely that times a step apart differ: "3 d 04:15".
function instant(s, step) {
  const day = Math.floor(s / DAY + 1e-9), left = Math.max(0, s - day * DAY);
  const days = day > 0 ? day + ' d' : '';
  if (step >= DAY) return days || '0';
  const two = n => String(n).padStart(2, '0');
  let clock;
  if (step >= 60) {
    const m = Math.round(left / 60);
    if (m === 1440) return (day + 1) + ' d 00:00';
    clock = two(Math.floor(m / 60)) + ':' + two(m % 60);
  } else {
    const digits = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3;
    const scale = 10 ** digits, n = Math.min(DAY * scale - 1, Math.round(left * scale));
    const whole = Math.floor(n / scale);
    clock = two(Math.floor(whole / 3600)) + ':' + two(Math.floor(whole / 60) % 60) + ':' + two(whole % 60);
    if (digits) clock += '.' + String(n % scale).padStart(digits, '0');
  }
  return days ? days + ' ' + clock : clock;
}

// trim writes a number to so many digits behind the point, without zeros at the end.
function trim(x, digits) { return String(Number(x.toFixed(digits))); }

// group puts thin blanks between thousands.
function group(x, digits = 0) { return Number(x.toFixed(digits)).toLocaleString('en-GB').replace(/,/g, '\u202f'); }

function percent(x, digits = 1) { return (100 * x).toFixed(digits) + '\u00a0%'; }

function plural(n, noun) { return group(n) + ' ' + noun + (n === 1 ? '' : 's'); }

// niceStep is the round number at or above x: 1, 2 or 5 times a power of ten.
function niceStep(x) {
  const p = 10 ** Math.floor(Math.log10(x));
  for (const m of [1, 2, 5]) if (m * p >= x * (1 - 1e-9)) return m * p;
  return 10 * p;
}

const TIME_STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  3 * 3600, 6 * 3600, 12 * 3600, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 20 * DAY, 50 * DAY, 100 * DAY, 200 * DAY, 500 * DAY, 1000 * DAY];

// timeStep is the round time at or above s.
function timeStep(s) { return TIME_STEPS.find(x => x >= s) || TIME_STEPS[TIME_STEPS.length - 1]; }

// element makes an HTML element. Text goes in as text, never as HTML: names come from traces.
function element(tag, props, ...children) {
  const e = document.createElement(tag);
  Object.assign(e, props);
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}

// drawn makes an SVG element.
function drawn(tag, attributes, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  return e;
}

// look is how lines of the policy with that index are drawn: a colour and, for those who see colours alike, a dash.
function look(index) { return { colour: index % 8, dash: (index + Math.floor(index / 8)) % 4 }; }
function lookClass(index) { const l = look(index); return 'p' + l.colour + ' d' + l.dash; }
