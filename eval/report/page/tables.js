// Tables: a click on a head sorts, and wide tables show the rest of their columns on request.

function numberIn(cell) {
  const text = cell.textContent.replace(/\[.*$/, '').replace(/[,\s\u202f]/g, '').replace('−', '-');
  const x = parseFloat(text);
  return Number.isNaN(x) ? null : x;
}

function makeTable(table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector('button').onclick = () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      for (const h of heads) h.setAttribute('aria-sort', h === head ? (up ? 'ascending' : 'descending') : 'none');
      const key = row => column === 0 ? row.cells[0].textContent : numberIn(row.cells[column]);
      const rows = [...body.rows].map((row, i) => ({ row, i, k: key(row) }));
      rows.sort((a, b) => {
        if (a.k === null || b.k === null) return (a.k === null) - (b.k === null) || a.i - b.i; // those without a number last
        return (a.k < b.k ? -1 : a.k > b.k ? 1 : 0) * (up ? 1 : -1) || a.i - b.i;
      });
      body.append(...rows.map(r => r.row));
    };
  });
  const fold = table.parentElement.nextElementSibling;
  if (!fold || !fold.classList.contains('fold')) return;
  const text = fold.textContent;
  fold.onclick = () => {
    const all = table.classList.toggle('all');
    fold.setAttribute('aria-expanded', String(all));
    fold.textContent = all ? 'Fewer metrics' : text;
  };
}
