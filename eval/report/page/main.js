// What the page does when it opens: tables and charts at once, then the schedules, one section after the other.

const figures = JSON.parse(document.getElementById('figures').textContent);
const indexOf = name => Math.max(0, figures.policies.indexOf(name));

document.querySelectorAll('table:not(.plain)').forEach(makeTable);
document.querySelectorAll('[data-plot=curves]').forEach(el => curvesChart(el, figures.curves, indexOf));
document.querySelectorAll('.scenario').forEach(section => {
  const figure = figures.sections[Number(section.dataset.section)];
  section.querySelectorAll('[data-plot=cdf]').forEach(el => { if (figure.cdf) cdfChart(el, figure.cdf, indexOf); });
  section.querySelectorAll('[data-plot=forest]').forEach(el => {
    if (figure.forest) forestChart(el, figure.forest, indexOf); else el.parentElement.remove();
  });
});

async function start() {
  for (const section of document.querySelectorAll('.scenario')) {
    const text = section.querySelector('script.pack');
    if (!text) continue;
    await new Promise(next => requestAnimationFrame(() => setTimeout(next))); // let what is there be painted first
    const root = section.querySelector('.view');
    try {
      const data = makeSchedules(await unpack(text.textContent));
      root.report = makeView(root, data, figures.policies, figures.sections[Number(section.dataset.section)].differs || []);
      root.dataset.ready = 'true';
    } catch (error) {
      root.replaceChildren(element('p', { className: 'note', textContent: 'The schedules could not be drawn: ' + error.message }));
      throw error;
    }
  }
}
start().finally(() => {
  performance.mark('schedules');
  document.documentElement.dataset.ready = 'true';
});
