// This script sorts tables in place, shows the text of chart marks without delay, and moves to the
// filter when a person presses "/". Every page works without the script.
'use strict';

for (const table of document.querySelectorAll('table.sortable')) {
  table.querySelectorAll('thead th').forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const rising = head.getAttribute('aria-sort') === 'descending';
      for (const other of table.querySelectorAll('thead th')) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', rising ? 'ascending' : 'descending');
      const body = table.tBodies[0];
      const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
      const compare = (a, b) => {
        const x = number(value(a)), y = number(value(b));
        if (x === null || y === null) return (x === null) - (y === null) || value(b).localeCompare(value(a));
        return y - x;
      };
      const rows = [...body.rows].sort((a, b) => rising ? -compare(a, b) : compare(a, b));
      body.append(...rows);
    };
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  });
}

// number reads "1 234.5 %", "12.6Gi" or "−3"; null for other text.
function number(text) {
  const match = /^([−-]?[\d.\s\u202f]+)\s*([KMGTP]i)?\s*(%)?$/.exec(text);
  if (!match) return null;
  const unit = match[2] ? 1024 ** ('KMGTP'.indexOf(match[2][0]) + 1) : 1;
  return Number(match[1].replace('−', '-').replace(/[\s\u202f]/g, '')) * unit;
}

const tip = document.createElement('div');
tip.id = 'tip';
tip.setAttribute('aria-hidden', 'true');
tip.hidden = true;
document.body.append(tip);
for (const mark of document.querySelectorAll('.chart title')) {
  const shape = mark.parentNode;
  const text = mark.textContent;
  shape.setAttribute('aria-label', text);
  if (shape.tagName !== 'a') shape.setAttribute('role', 'img');
  mark.remove(); // otherwise the browser would show the text a second time
  shape.addEventListener('pointerenter', event => {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = Math.min(event.pageX + 12, document.documentElement.clientWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = event.pageY + 14 + 'px';
  });
  shape.addEventListener('pointerleave', () => { tip.hidden = true; });
}

document.addEventListener('keydown', event => {
  const field = document.querySelector('[data-focus]');
  if (event.key === '/' && field && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    field.focus();
  }
});
