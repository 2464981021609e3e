// A page that is opened as a file may not start a Worker, which the search needs: a hidden frame takes its place.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.ready = new Promise((resolve) => {
        frame.onload = () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          inside.importScripts = (...scripts) => scripts.reduce((before, script) => before.then(() => load(script)), Promise.resolve());
          const load = (script) =>
            new Promise((loaded, failed) => {
              const tag = frame.contentDocument.createElement("script");
              Object.assign(tag, { src: script, onload: loaded, onerror: failed });
              frame.contentDocument.body.append(tag);
            });
          load(new URL(url, document.baseURI).href).then(() => resolve(inside));
        };
      });
      frame.srcdoc = "<!doctype html><title>search</title>";
      const place = () => document.body.append(frame);
      if (document.body) place();
      else addEventListener("DOMContentLoaded", place);
    }
    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
