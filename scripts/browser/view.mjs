// Checks the pages of evalctl show --serve in a real browser: view.mjs URL JOURNAL. The folder that is served
// has results of many nights, and one run with a journal and a partial result. This adds a question to
// the journal, and then removes it, as a run does at its end.
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { accessible, check, done, equal, launch, narrow, openPage, shot, widths } from './browser.mjs';

const [url, journal] = process.argv.slice(2);
const origin = new URL(url).origin;
const browser = await launch();
const open = (path, options = {}) => openPage(browser, new URL(path, url).href, { origin, ...options });
const links = (page, prefix) => page.$$eval(`a[href^="${prefix}"]`, (all) => all.map((a) => a.getAttribute('href')));

// looks checks a page in light and dark, and in each width.
async function looks(name, path) {
  for (const [width, scheme] of widths.flatMap((w) => [[w, 'light'], [w, 'dark']])) {
    const page = await open(path, { width, scheme });
    const what = `view ${name} ${scheme} ${width}`;
    await narrow(page, what);
    await accessible(page, what);
    const hostile = await page.evaluate(() => [document.querySelectorAll('img, iframe, object, embed, [onerror], [onload]').length, globalThis.hostile]);
    equal(`${what}: hostile text`, hostile, [0, null]);
    await shot(page, what, true);
    await page.close();
  }
  done(`view ${name}`);
}

// compares selects two results in the list, with and without scripts. The first is partial.
async function compares() {
  for (const scripts of [true, false]) {
    const page = await open('/', { scripts });
    const boxes = await page.$$('input[name=r]');
    for (const box of boxes.slice(1, 3)) await box.click();
    await Promise.all([page.waitForNavigation(), page.click('button[type=submit]')]);
    const [where, heading] = await page.evaluate(() => [location.pathname, document.querySelector('main').innerText]);
    equal('view: path of a comparison', where, '/compare');
    check('view: a comparison has no test', heading.includes('McNemar'), heading.slice(0, 300));
    if (scripts) await looks('compare', await page.evaluate(() => location.pathname + location.search));
    await page.close();
  }
}

// follows a run to its end.
async function follows(path) {
  const plain = await open(path, { scripts: false });
  equal('view: loaded again without scripts', (await plain.$$('meta[http-equiv=refresh]')).length, 1);
  await plain.close();

  const page = await open(path);
  const finished = () => page.$eval('h1', (h) => parseInt(h.textContent));
  const before = await finished();
  const entries = readFileSync(journal, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  const last = entries.findLast((e) => e.kind === 'grade');
  const next = Math.max(...entries.filter((e) => e.record).map((e) => e.index)) + 1;
  appendFileSync(journal, JSON.stringify({ ...last, index: next, record: { ...last.record, id: 'one-more' } }) + '\n');
  await page.waitForFunction((n) => parseInt(document.querySelector('h1').textContent) === n, { timeout: 10_000 }, before + 1);
  equal('view: the page was not loaded again', await page.$eval('#follow', (box) => box.checked), true);

  await page.click('#follow');
  rmSync(journal);
  await new Promise((resolve) => { setTimeout(resolve, 2500); });
  equal('view: a page that does not follow', await finished(), before + 1);
  await Promise.all([page.waitForNavigation(), page.click('#follow')]);
  check('view: the end of a run', page.url().includes('/result/'), page.url());
  await page.close();
  done('view follow');
}

try {
  const list = await open('/');
  const [trends, results, runs] = [await links(list, '/trend/'), await links(list, '/result/'), await links(list, '/progress/')];
  await list.close();
  equal('view: runs in progress', runs.length, 1);
  await looks('list', '/');
  await looks('result', results[0]);
  const long = await open(trends[0]);
  check('view: a trend without a chart', (await long.$$('svg.chart')).length === 1);
  await long.close();
  await looks('trend', trends[0]);
  await compares();
  await looks('progress', runs[0]);
  await follows(runs[0]);
} finally {
  await browser.close();
}
