// Checks HTML reports in a real browser: check.mjs FILE... Each file is opened from disk, with and
// without scripts, in light and dark, on a small and a large screen. HOSTILE=1 says that its texts
// try to run scripts. SHOTS=FOLDER keeps screenshots.
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { accessible, check, done, equal, first, launch, narrow, openPage, shot, widths } from './browser.mjs';

const open = (browser, file, options) => openPage(browser, pathToFileURL(resolve(file)).href, options);

// looks checks each width and colour scheme, as it opens and with all that is folded open.
async function looks(browser, file) {
  for (const scheme of ['light', 'dark']) {
    for (const width of widths) {
      const page = await open(browser, file, { width, scheme });
      const what = `${basename(file)} ${scheme} ${width}`;
      await shot(page, what);
      if (width === 1280) await first(page, what);
      await narrow(page, what);
      if (process.env.SHOTS) await shot(page, `${what} full`, true);
      await page.evaluate(() => [...document.querySelectorAll('.fold, #list > li:nth-child(-n+4) details')].forEach((d) => { d.open = true; }));
      await narrow(page, `${what} open`);
      await accessible(page, what);
      await page.emulateMediaType('print');
      await narrow(page, `${what} printed`);
      await page.close();
    }
  }
}

// lines returns the attributes of the lines that are shown, in order.
const lines = (page, key) => page.$$eval('#list > li', (items, k) =>
  items.filter((i) => i.offsetParent !== null).map((i) => i.dataset[k] ?? ''), key);

// works checks filters, sorting and the details of questions.
async function works(browser, file) {
  const name = basename(file);
  const page = await open(browser, file);
  const all = await lines(page, 's');
  if (all.length === 0) return page.close();

  await page.$$eval('input[name=status]', (boxes) => boxes.forEach((b) => { if (b.value === 'passed') b.click(); }));
  equal(`${name}: filter by status`, await lines(page, 's'), all.filter((s) => s !== 'passed'));
  equal(`${name}: number shown`, await page.$eval('#shown', (e) => parseInt(e.textContent)), all.filter((s) => s !== 'passed').length);
  await page.click('button[type=reset]');
  await page.waitForFunction((n) => document.querySelector('#shown').textContent.startsWith(n + ' of'), { timeout: 5000 }, all.length);

  const id = await page.$eval('#list > li:last-child .i', (e) => e.textContent);
  await page.type('input[name=text]', id.toUpperCase().slice(0, 40));
  const found = await page.$$eval('#list > li', (items) => items.filter((i) => i.offsetParent !== null).map((i) => i.querySelector('.i').textContent));
  check(`${name}: filter by text`, found.includes(id) && (found.length < all.length || all.length < 3), found.join(', ').slice(0, 300));
  await page.click('button[type=reset]');
  await page.waitForFunction((n) => document.querySelector('#shown').textContent.startsWith(n + ' of'), { timeout: 5000 }, all.length);

  for (const [field, key] of [['tag', 't'], ['stage', 'g']]) {
    const select = await page.$(`select[name=${field}]`);
    if (!select) continue;
    const value = await select.$eval('option:last-child', (o) => o.value);
    await select.select(value);
    const kept = await lines(page, key);
    check(`${name}: filter by ${field}`, kept.length > 0 && kept.every((v) => (field === 'tag' ? v.includes(` ${value} `) : v === value)), kept.join('|').slice(0, 200));
    await select.select('');
  }

  for (const sign of [1, -1]) {
    await page.click('#sort [data-key=l]');
    const got = (await lines(page, 'l')).filter((v) => v !== '').map(Number);
    equal(`${name}: sorted by latency`, got, [...got].sort((a, b) => sign * (a - b)));
  }

  // With the keyboard: the first stop is the link to the figures, and Enter opens a question.
  await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
  await page.focus('#list summary');
  await page.keyboard.press('Enter');
  equal(`${name}: opened with the keyboard`, await page.$$eval('#list details[open]', (d) => d.length), 1);
  await page.close();

  const linked = await open(browser, file, { hash: '#q2' });
  if (all.length > 1) check(`${name}: a link opens its question`, await linked.$eval('#q2', (e) => e.closest('details')?.open));
  await linked.close();
}

// plain checks the page without scripts.
async function plain(browser, file) {
  const name = basename(file) + ' without scripts';
  const page = await open(browser, file, { scripts: false });
  check(`${name}: no heading`, (await page.$$('h1')).length === 1);
  const summaries = await page.$$('#list > li summary');
  check(`${name}: a control that does nothing is shown`, (await page.$$('#filters:not([hidden]), #sort:not([hidden]), #theme:not([hidden])')).length === 0);
  for (const summary of summaries.slice(0, 10)) await summary.click();
  const opened = await page.$$('#list details[open]');
  equal(`${name}: questions that open`, opened.length, Math.min(10, summaries.length));
  for (const details of opened) check(`${name}: an opened question shows nothing`, (await (await details.$('.d')).boundingBox())?.height > 20);
  await page.close();
}

// harmless checks that nothing of the data became a part of the page.
async function harmless(browser, file) {
  const name = basename(file);
  const page = await open(browser, file);
  await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
  const got = await page.evaluate(() => ({
    scripts: document.scripts.length,
    foreign: document.querySelectorAll('img, iframe, object, embed, link, base, form[action], [onclick], [onerror], [onload], [style]').length,
    ran: globalThis.hostile !== undefined,
    shown: document.body.innerText.includes('<script>'),
    urls: [...document.links].map((a) => a.protocol).filter((p) => !['file:', 'data:', 'http:', 'https:'].includes(p)),
  }));
  equal(`${name}: hostile text`, got, { scripts: 1, foreign: 0, ran: false, shown: process.env.HOSTILE === '1', urls: [] });
  await page.close();
}

const browser = await launch();
try {
  for (const file of process.argv.slice(2)) {
    await looks(browser, file);
    await works(browser, file);
    await plain(browser, file);
    await harmless(browser, file);
    done(basename(file));
  }
} finally {
  await browser.close();
}
