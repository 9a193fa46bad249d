// Sorting, filtering and the choice of colours. Without this script the page is complete.
(() => {
  'use strict';
  const find = (selector) => document.querySelector(selector);

  // Colours: as the system, light or dark.
  const themes = ['automatic', 'light', 'dark'];
  const theme = find('#theme');
  let chosen = 0;
  theme.hidden = false;
  theme.addEventListener('click', () => {
    chosen = (chosen + 1) % themes.length;
    theme.textContent = 'Theme: ' + themes[chosen];
    if (chosen) document.documentElement.dataset.theme = themes[chosen];
    else delete document.documentElement.dataset.theme;
  });

  const list = find('#list');
  if (!list) return;
  const items = [...list.children];
  const place = new Map(items.map((item, i) => [item, i]));
  const filters = find('#filters');
  const sort = find('#sort');
  const shown = find('#shown');
  const texts = new Map(); // of an item, in lower case, once it was searched
  const textOf = (item) => {
    if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return texts.get(item);
  };
  let sorted = '';

  const report = () => {
    const n = items.filter((item) => !item.hidden).length;
    shown.textContent = n + ' of ' + items.length + ' questions shown' + sorted;
  };

  const filter = () => {
    const form = new FormData(filters);
    const statuses = new Set(form.getAll('status'));
    const tag = form.get('tag');
    const stage = form.get('stage');
    const words = form.get('text').trim().toLowerCase();
    for (const item of items) {
      const data = item.dataset;
      item.hidden = !statuses.has(data.s) || (tag && !(data.t || '').includes(' ' + tag + ' ')) ||
        (stage && data.g !== stage) || (words !== '' && !textOf(item).includes(words));
    }
    report();
  };

  // Values for sorting. An empty value comes last in either direction.
  const order = [...filters.querySelectorAll('[name=status]')].map((box) => box.value);
  const numeric = (text) => (text === undefined ? null : Number(text));
  const values = {
    n: (item) => place.get(item),
    s: (item) => order.indexOf(item.dataset.s),
    i: (item) => item.querySelector('.i').textContent,
    g: (item) => item.dataset.g || null,
    c: (item) => numeric(item.dataset.c),
    l: (item) => numeric(item.dataset.l),
  };
  const natural = new Intl.Collator('en', { numeric: true });
  const compare = (a, b) => (typeof a === 'string' ? natural.compare(a, b) : a - b);
  let key = 'n';
  let direction = 1;
  const arrange = () => {
    const value = values[key];
    const rows = items.map((item) => ({ item, value: value(item), n: place.get(item) }));
    rows.sort((a, b) => {
      if (a.value === null || b.value === null) {
        return (a.value === null) - (b.value === null) || a.n - b.n;
      }
      return direction * compare(a.value, b.value) || a.n - b.n;
    });
    list.append(...rows.map((row) => row.item));
    for (const button of sort.children) {
      const on = button.dataset.key === key;
      button.setAttribute('aria-pressed', on);
      button.dataset.arrow = on ? (direction > 0 ? '▲' : '▼') : '';
      if (on) sorted = ', sorted by ' + button.textContent + (direction > 0 ? ', ascending' : ', descending');
    }
    report();
  };

  // A link to a question opens it, and shows it if it is filtered out.
  const follow = () => {
    const target = /^#q\d+$/.test(location.hash) && find(location.hash);
    if (!target) return;
    const item = target.closest('li');
    item.hidden = false;
    const details = item.querySelector('details');
    if (details) details.open = true;
    item.scrollIntoView({ block: 'start' });
    report();
  };

  filters.hidden = sort.hidden = false;
  filters.addEventListener('input', filter);
  filters.addEventListener('reset', () => setTimeout(filter));
  filters.addEventListener('submit', (event) => event.preventDefault());
  sort.addEventListener('click', (event) => {
    const pressed = event.target.dataset.key;
    if (!pressed) return;
    direction = pressed === key ? -direction : 1;
    key = pressed;
    arrange();
  });
  const toggle = (open) => {
    for (const item of items) {
      const details = item.querySelector('details');
      if (details && (!open || !item.hidden)) details.open = open;
    }
  };
  find('#open').addEventListener('click', () => toggle(true));
  find('#close').addEventListener('click', () => toggle(false));
  window.addEventListener('hashchange', follow);
  filter();
  follow();
})();
