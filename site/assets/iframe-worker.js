// Browsers refuse workers to a page that was opened as a file. Then the search runs in a hidden frame instead of its
// worker; only English words are searched, so the worker imports no other script.
if (location.protocol === 'file:') {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const page = document.createElement('iframe');
      page.hidden = true;
      this.loaded = new Promise((done) => page.addEventListener('load', () => done(page.contentWindow)));
      page.srcdoc = '<script>postMessage = (data) => frameElement.answer(data);</scr' + 'ipt>' +
        `<script src="${url}"></scr` + 'ipt>';
      page.answer = (data) => this.dispatchEvent(new MessageEvent('message', {data}));
      document.documentElement.append(page);
    }

    postMessage(data) {
      this.loaded.then((frame) => frame.dispatchEvent(new MessageEvent('message', {data})));
    }
  };
}
