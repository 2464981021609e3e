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
  // An `Error` whose message is the package's own sentence, for what it refuses.
  table(names, entries) {
    return $.call(this.walk.TextTable, names, entries, (texts, missing) => this.read(texts, missing));
  },
  answered(table, named, method, level) {
    try {
      const found = $.call(this.walk.answered, table, new $.Dict(Object.entries(named)), method, level);
      return plain(found);
    } catch (thrown) {
      const refused = $.isinstance(thrown, $.imported("ebformer.errors", "EbformerError"));
      throw refused ? Object.assign(new Error($.str(thrown)), { refused: true }) : thrown instanceof Error ? thrown : Object.assign(new Error($.type(thrown).$title + ": " + $.str(thrown)), { stack: thrown.stack });
    }
  },
};
const plain = value => value instanceof $.Dict ? Object.fromEntries(value.entries().map(([key, each]) => [key, plain(each)]))
  : $.is_array(value) ? value.data : Array.isArray(value) ? Array.from(value, plain) : value;
