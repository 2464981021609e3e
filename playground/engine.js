// The doors of the package in the page: a table of texts goes in, answers come out.
"use strict";
const ebformer = {
  // native: bytes of the compiled C; weights: those of a safetensors file.
  async start(native, weights) {
    const { instance } = await WebAssembly.instantiate(native, {});
    $.heap.start(instance.exports);
    const view = new DataView(weights.buffer, weights.byteOffset), size = Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(weights.subarray(8, 8 + size)));
    const { config } = JSON.parse(header.__metadata__.ebformer), arrays = new $.Dict();
    delete header.__metadata__;
    for (const [name, { shape, data_offsets: [start, end] }] of Object.entries(header)) {
      arrays.set(name, new $.NdArray(new Float32Array(weights.slice(8 + size + start, 8 + size + end).buffer), shape, $.dtypes.f4));
    }
    $.modules.set("page", { config: new $.Dict(Object.entries(config)), arrays });
    this.walk = $.require("walk");
    const network = $.call($.imported("ebformer.estimators.catalogue", "find"), "priorformer").network;
    network.blocks; // laid out once, where C finds them
    $.heap.keep();
  },
  // Texts of a column as numbers; `missing` says which texts mean that there is none.
  read(texts, missing) {
    const found = new Float64Array(texts.length);
    for (let i = 0; i < texts.length; i++) {
      const text = texts[i];
      if (/^-?\d+(\.\d+)?$/.test(text)) found[i] = Number(text);
      else if ($.call(missing, text)) found[i] = NaN;
      else try { found[i] = /[^\x00-\x7f_]/.test(text) || text.includes("_") ? -Infinity : $.builtins.float(text); } catch { found[i] = -Infinity; }
    }
    return new $.NdArray(found, [texts.length], $.dtypes.f8);
  },
  // A file, or what was pasted: columns of texts by name. What cannot be read gets the sentence of the command line.
  opened(bytes, name) {
    return asked(() => {
      const magic = String.fromCharCode(...bytes.subarray(0, 4));
      let text;
      try { text = new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch { text = null; }
      const cut = text === null ? 0 : text.search(/\r\n|\n|\r/), first = text === null ? "x" : cut < 0 ? text : text.slice(0, cut);
      const delimiter = $.call(this.walk.layout, name, magic, first, text === null ? [] : [text.slice(first.length, 100000)]);
      if (text === null) $.call(this.walk.bad_encoding, name, this.first_bad_line(bytes));
      const rows = this.rows(text, delimiter, name), header = rows.shift();
      const entries = header.map((_, i) => rows.map(row => row[i]));
      return { header, table: this.table(header, entries, delimiter), entries };
    });
  },
  first_bad_line(bytes) {
    for (let line = 1, start = 0; start < bytes.length; line++) {
      const end = bytes.indexOf(10, start), stop = end < 0 ? bytes.length : end;
      try { new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(start, stop)); } catch { return line; }
      start = stop + 1;
    }
    return 1;
  },
  // The entries of every line; between quotation marks a delimiter or the end of a line is one more letter.
  rows(text, delimiter, name) {
    const rows = [], n = text.length, mark = delimiter.charCodeAt(0);
    let at = 0, line = 1, width = 0;
    while (at < n) {
      const row = [], begun = line;
      for (let more = true; more;) {
        let entry;
        if (text.charCodeAt(at) === 34) {
          entry = "";
          for (at++; ; at++) {
            const quote = text.indexOf('"', at);
            if (quote < 0) $.call(this.walk.open_quote, name, begun);
            entry += text.slice(at, quote);
            at = quote + 1;
            if (text.charCodeAt(at) !== 34) break;
            entry += '"';
          }
          for (const letter of entry) if (letter === "\n") line++;
          while (at < n && text.charCodeAt(at) !== mark && text.charCodeAt(at) !== 10 && text.charCodeAt(at) !== 13) entry += text[at++];
        } else {
          const start = at;
          for (let c; at < n && (c = text.charCodeAt(at)) !== mark && c !== 10 && c !== 13;) at++;
          entry = text.slice(start, at);
        }
        row.push(entry);
        more = at < n && text.charCodeAt(at) === mark;
        if (more) at++;
      }
      if (text.charCodeAt(at) === 13) at++;
      if (text.charCodeAt(at) === 10) at++;
      line++;
      if (row.length === 1 && row[0] === "" && width !== 1) continue; // a blank line
      if (width === 0) width = row.length;
      if (row.length !== width) $.call(this.walk.bad_line, name, begun, row.length, width);
      rows.push(row);
    }
    return rows;
  },
  table(names, entries, delimiter) {
    const made = $.call(this.walk.TextTable, names, entries, (texts, missing) => this.read(texts, missing));
    if (delimiter === ";") $.call_method(made, "between_semicolons");
    return made;
  },
  answered: (table, named, method, level) => asked(() => plain($.call(ebformer.walk.answered, table, new $.Dict(Object.entries(named)), method, level))),
};
// What the package refuses becomes an `Error` with the package's own sentence.
const asked = question => {
  try { return question(); } catch (thrown) {
    if (thrown instanceof Error) throw thrown;
    const refused = $.isinstance(thrown, $.imported("ebformer.errors", "EbformerError"));
    throw Object.assign(new Error((refused ? "" : $.type(thrown).$title + ": ") + $.str(thrown)), { refused, stack: thrown.stack });
  }
};
const plain = value => value instanceof $.Dict ? Object.fromEntries(value.entries().map(([key, each]) => [key, plain(each)]))
  : $.is_array(value) ? value.data : Array.isArray(value) ? Array.from(value, plain) : value;
