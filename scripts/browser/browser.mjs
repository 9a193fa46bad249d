// What the checks of pages share: a browser, pages that report what must not happen, and findings.
// SHOTS=FOLDER keeps screenshots.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let failed = false;

export function check(what, ok, detail = '') {
  if (!ok) {
    failed = true;
    console.log(`FAIL ${what}${detail === '' ? '' : ': ' + detail}`);
  }
}

export const equal = (what, got, want) =>
  check(what, JSON.stringify(got) === JSON.stringify(want), `${JSON.stringify(got)}, want ${JSON.stringify(want)}`);

// done says that a page is in order, if all were until now.
export function done(name) {
  if (!failed) console.log(`ok  ${name}`);
  process.exitCode = failed ? 1 : 0;
}

export const launch = () => puppeteer.launch({
  executablePath: process.env.CHROMIUM,
  protocolTimeout: 60_000,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars'], // containers have no sandbox
});

// openPage opens a URL in a new page that reports what must not happen. A page may request itself, and
// what begins with origin if there is one.
export async function openPage(browser, url, { scripts = true, width = 1440, scheme = 'light', hash = '', origin = '' } = {}) {
  const page = await browser.newPage();
  const name = new URL(url).pathname.split('/').slice(-2).join('/');
  page.on('console', (message) => {
    if (['error', 'warn'].includes(message.type())) check(`${name}: console`, false, message.text());
  });
  page.on('pageerror', (err) => check(`${name}: script`, false, err.message));
  page.on('dialog', async (dialog) => {
    check(`${name}: dialog`, false, dialog.message());
    await dialog.dismiss();
  });
  page.on('request', (request) => {
    const to = request.url();
    check(`${name}: request`, to.split('#')[0] === url || to.startsWith('data:') || (origin !== '' && to.startsWith(origin + '/')), to);
  });
  await page.setJavaScriptEnabled(scripts);
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(url + hash);
  return page;
}

// shot keeps a screenshot if they are wanted.
export async function shot(page, what, fullPage = false) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${what}.png`.replaceAll(' ', '-')), fullPage });
}

// widths are those of a phone, of a small and of a large screen.
export const widths = [390, 1280, 1920];

// narrow checks that nothing is hidden on the right: neither the page nor a box in it scrolls sideways.
export async function narrow(page, what) {
  const wide = await page.evaluate(() => [document.documentElement, ...document.body.querySelectorAll('*')]
    .filter((e) => !e.closest('svg') && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
    .map((e) => `${e.tagName} ${e.id || e.className} ${e.scrollWidth} of ${e.clientWidth}`));
  check(`${what}: columns are hidden`, wide.length === 0, wide.slice(0, 5).join(', '));
}

// first checks what a screen of 1,280 x 800 shows first: the verdict and the begin of a drawing, if the
// page has some.
export async function first(page, what) {
  const got = await page.evaluate(() => ({
    verdict: document.querySelector('.verdict')?.getBoundingClientRect().bottom ?? Infinity,
    drawings: [...document.querySelectorAll('main figure')].map((e) => e.getBoundingClientRect()).filter((r) => r.height > 0).map((r) => r.top),
  }));
  check(`${what}: no verdict on the first screen`, got.verdict < 800, `${got.verdict}`);
  check(`${what}: no drawing on the first screen`, got.drawings.length === 0 || Math.min(...got.drawings) < 700, `${got.drawings}`);
}

// accessible runs axe-core. Any violation fails.
export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  for (const v of violations) {
    const where = v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? '')).join(' | ');
    check(`${what}: accessibility: ${v.id} (${v.impact})`, false, where);
  }
  return violations.length;
}
