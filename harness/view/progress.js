// Shows how far a run is without loading the page again, so that the place of a reader is kept. At the
// end of the run, the server leads to its result.
(() => {
  const follow = document.getElementById('follow');
  const seconds = Number(document.currentScript.dataset.seconds);
  document.getElementById('control').hidden = false;
  const update = async () => {
    if (follow.checked) {
      try {
        const response = await fetch(location.href);
        if (response.redirected) {
          location.replace(response.url);
          return;
        }
        const next = new DOMParser().parseFromString(await response.text(), 'text/html');
        document.title = next.title;
        document.querySelector('main').replaceWith(document.adoptNode(next.querySelector('main')));
      } catch {
        document.title = 'Not reached: ' + document.title.replace('Not reached: ', '');
      }
    }
    setTimeout(update, seconds * 1000);
  };
  setTimeout(update, seconds * 1000);
})();
