// The rest that the package imports: of Python's own library what it takes to load, scipy's special functions and the
// package's C files, all three compiled to WebAssembly.
"use strict";
(() => {
  const { tuple, error, function: func, Dict, Keywords, NdArray, np } = $;
  const put = (name, content) => $.modules.set(name, content);
  const identity = value => value;
  const typing = {};
  for (const name of ["Any", "ClassVar", "Literal", "Self", "Generic", "Protocol", "Callable", "Iterator", "Iterable", "Sequence", "Mapping", "AbstractContextManager"]) typing[name] = { $test: () => false };
  typing.Literal = { __getitem__: items => ({ $args: items instanceof $.Tuple ? items : tuple([items]), $test: () => false }) };
  typing.NamedTuple = $.class_("NamedTuple", [], () => {}, [], () => {});
  typing.NamedTuple.$named_tuple = true;
  Object.assign(typing, { TypeVar: func(() => null, [], true), cast: (kind, value) => value, TYPE_CHECKING: false, get_args: kind => kind.$args || tuple([]), get_origin: () => null, get_type_hints: () => new Dict() });
  put("typing", typing);
  const mapping = $.class_("Mapping", [], own => {
    own.items = $.method(function () { return [...$.iter(this)].map(key => tuple([key, this.__getitem__(key)])); }, []);
    own.get = $.method(function (key, usual = null) { try { return this.__getitem__(key); } catch { return usual; } }, ["key", "usual"]);
  }, [], () => {});
  put("collections.abc", { ...typing, Mapping: mapping });
  put("abc", { ABC: $.builtins.object, abstractmethod: identity });
  put("numbers", { Real: { $test: v => typeof v === "number" || typeof v === "boolean" }, Integral: { $test: v => typeof v === "boolean" || Number.isInteger(v) } });
  put("decimal", { Decimal: { $test: () => false } });
  put("math", {
    pi: Math.PI, inf: Infinity, nan: NaN, log: Math.log, exp: x => { const y = Math.exp(x); if (y === Infinity && x < Infinity) throw error("OverflowError", "math range error"); return y; }, sqrt: Math.sqrt, floor: x => { if (!Number.isFinite(x)) throw error("OverflowError", "no whole number"); return Math.floor(x); }, ceil: x => { if (!Number.isFinite(x)) throw error("OverflowError", "no whole number"); return Math.ceil(x); }, isfinite: Number.isFinite, isnan: Number.isNaN,
    isinf: x => Math.abs(x) === Infinity, prod: items => [...$.iter(items)].reduce((a, b) => a * b, 1), log2: Math.log2, log1p: Math.log1p, fabs: Math.abs, hypot: Math.hypot,
  });
  put("dataclasses", {
    dataclass: func((...args) => {
      const last = args[args.length - 1], options = Object.fromEntries(last instanceof Keywords ? args.pop().entries : []);
      return args.length ? $.dataclass(args[0], options) : cls => $.dataclass(cls, options);
    }, [], true),
    field: func((...args) => { const o = Object.fromEntries(args.length ? args[0].entries : []); return new $.Field(o.default, o.default_factory, o.kw_only); }, [], true),
    fields: object => (object.$class ? object : object.constructor).$fields.map(name => ({ name })),
    asdict: object => new Dict(object.constructor.$fields.map(name => [name, object[name]])),
    replace: func((object, ...args) => {
      const given = new Map(args.length ? args[0].entries : []), cls = object.constructor;
      return $.make(cls, [new Keywords(cls.$fields.map(name => [name, given.has(name) ? given.get(name) : object[name]]))]);
    }, [], true),
  });
  const cache = f => {
    const found = new Dict();
    return func((...args) => { const key = tuple(args); if (!found.has(key)) found.set(key, $.call(f, ...args)); return found.take(key); }, f.$names);
  };
  put("functools", { cache, lru_cache: func(() => cache, [], true), cached_property: f => new $.CachedProperty(f), partial: func((f, ...first) => func((...rest) => $.call(f, ...first, ...rest), [], true), [], true) });
  put("itertools", { pairwise: items => { const list = [...$.iter(items)]; return list.slice(1).map((each, i) => tuple([list[i], each])); }, starmap: (f, items) => [...$.iter(items)].map(each => $.call(f, ...$.iter(each))), chain: (...lists) => lists.flatMap(list => [...$.iter(list)]) });
  put("contextlib", { nullcontext: () => ({ __enter__: () => null, __exit__: () => null }), AbstractContextManager: null });
  put("importlib", { import_module: name => $.require(name) });
  put("importlib.metadata", { entry_points: func(() => [], [], true), EntryPoint: null });
  // Python's expressions are JavaScript's, but for what both ends of a text are called.
  const expression = (pattern, flags) => new RegExp(pattern.replace(/\\Z/g, "$"), flags || "");
  const found = match => match && { group: (i = 0) => match[i] === undefined ? null : match[i], __getitem__: i => match[i] };
  put("re", {
    IGNORECASE: "i", compile: func((pattern, flags) => { const made = expression(pattern, flags); return { search: text => found(made.exec(text)) }; }, ["pattern", "flags"]),
    search: (pattern, text) => found(expression(pattern).exec(text)), fullmatch: (pattern, text) => found(expression(`^(?:${pattern})$`).exec(text)), match: (pattern, text) => found(expression(`^(?:${pattern})`).exec(text)),
  });
  put("unicodedata", { name: (character, usual) => ({ "\u00a0": "NO-BREAK SPACE", "\u202f": "NARROW NO-BREAK SPACE", "\u2009": "THIN SPACE", "\u2007": "FIGURE SPACE", "\u3000": "IDEOGRAPHIC SPACE" })[character] || usual });
  // difflib: the share of letters that two texts have in common, in blocks, the longest first.
  const matching = (a, b) => {
    let best = [0, 0, 0];
    for (let i = 0; i < a.length; i++) for (let j = 0; j < b.length; j++) { let k = 0; while (i + k < a.length && j + k < b.length && a[i + k] === b[j + k]) k++; if (k > best[2]) best = [i, j, k]; }
    const [i, j, k] = best;
    return k === 0 ? 0 : k + matching(a.slice(0, i), b.slice(0, j)) + matching(a.slice(i + k), b.slice(j + k));
  };
  const get_close_matches = func((word, words, n = 3, cutoff = 0.6) => [...$.iter(words)].map(each => [2 * matching(each, word) / (each.length + word.length), each]).filter(([score]) => score >= cutoff)
    .sort((a, b) => b[0] - a[0] || (b[1] > a[1] ? 1 : -1)).slice(0, n).map(pair => pair[1]), ["word", "words", "n", "cutoff"]);
  put("difflib", { get_close_matches });
  put("csv", { Error: $.class_("Error", [$.builtins.Exception], () => {}, [], () => {}) });
  put("hashlib", { sha256: () => $.absent("hashlib") });
  const Path = func(name => ({ name, stem: name.replace(/\.\w+$/, ""), with_name: other => Path(other), with_suffix: () => Path(name) }), ["name"]);
  Path.$test = () => false;
  put("pathlib", { Path });
  put("ctypes", { c_void_p: "pointer", c_int64: "integer", c_float: "number", c_double: "number", CDLL: null });

  // The memory that C sees: arrays are copied there when their address is asked for, and back after the call. What was
  // placed before `keep` stays for good: the weights of a network.
  const heap = { waiting: [], top: 0, kept: 0 };
  heap.address = array => {
    const bytes = array.dtype === $.dtypes.i8 ? array.data.length * 8 : array.data.byteLength, at = (heap.top + 15) & ~15;
    heap.top = at + bytes;
    const lacking = heap.top + 65536 - heap.native.memory.buffer.byteLength;
    if (lacking > 0) heap.native.memory.grow(Math.ceil(lacking / 65536));
    new array.data.constructor(heap.native.memory.buffer, at, array.data.length).set(array.data);
    heap.waiting.push([array, at]);
    return at;
  };
  heap.keep = () => { heap.kept = heap.top; heap.waiting = []; };
  heap.start = native => { heap.native = native; heap.top = heap.kept = native.__heap_base.value; };
  const compiled = (name) => {
    const library = { runs_here: () => 1 }, prefix = name === "loops.c" ? "loops_" : "";
    for (const called of ["attention", "mlp", "near_block", "em_steps", "em_track", "all_blocks", "reweigh", "expand", "newton_step"]) {
      const exported = called === "em_steps" ? prefix + called : called;
      const f = func((...args) => {
        const given = args.map((value, i) => f.argtypes[i] === "integer" ? BigInt(value) : Number(value)), answer = heap.native[exported](...given);
        for (const [array, at] of heap.waiting) array.data.set(new array.data.constructor(heap.native.memory.buffer, at, array.data.length));
        heap.waiting = []; heap.top = heap.kept;
        return typeof answer === "bigint" ? Number(answer) : answer === undefined ? null : answer;
      }, []);
      library[called] = f;
    }
    return library;
  };
  put("ebformer.networks.libraries", { compiled_from: source => source, load: path => compiled(path.name) });
  $.heap = heap;

  // scipy.
  const special = {};
  const one = (name, f) => { special[name] = func((x) => typeof x === "number" ? f(x) : $.unary(x, f), ["x"]); };
  for (const name of ["digamma", "gammaln", "ndtr", "ndtri"]) one(name, x => heap.native[name](x));
  one("expit", x => 1 / (1 + Math.exp(-x)));
  one("logit", x => Math.log(x / (1 - x)));
  const several = (name, f) => {
    special[name] = func((...args) => {
      const named = args[args.length - 1] instanceof Keywords ? Object.fromEntries(args.pop().entries) : {};
      if (args.every(each => typeof each === "number")) return f(...args);
      const parts = np.broadcast_arrays(...args), data = new Float64Array(parts[0].size), target = named.out ? named.out.data : data;
      const [a, b, c] = parts.map(part => part.data), where = named.where && named.where.data;
      for (let i = 0; i < data.length; i++) if (!where || where[i]) target[i] = c ? f(a[i], b[i], c[i]) : f(a[i], b[i]);
      return named.out || new NdArray(data, parts[0].shape, $.dtypes.f8);
    }, [], true);
  };
  for (const name of ["gammainc", "gammaincc", "gammaincinv", "betainc", "betaincc", "betaincinv"]) several(name, (a, b, c) => heap.native[name](a, b, c));
  several("xlogy", (x, y) => x === 0 && y === y ? 0 : x * Math.log(y));
  several("polygamma", (n, x) => heap.native.trigamma(x));
  several("binom", (n, k) => { let r = 1; for (let i = 1; i <= k; i++) r *= (n - k + i) / i; return Math.round(r); });
  special.logsumexp = func((a, axis) => { const top = a.max(axis, true), safe = np.where(np.isfinite(top), top, 0); return $.add(np.log($.call_method(np.exp($.sub(a, safe)), "sum", axis)), safe.reshape(...safe.shape.slice(0, -1))); }, ["a", "axis"]);
  put("scipy.special", special);
  put("scipy", { special });
  // Brent's method (1973), as scipy has it.
  const brentq = func((f, a, b, xtol = 2e-12, rtol = 8.881784197001252e-16) => {
    let [x0, x1] = [a, b], f0 = $.call(f, a), f1 = $.call(f, b), xb = 0, fb = 0, spare = 0, step = 0;
    if (f0 === 0) return a; if (f1 === 0) return b;
    if (f0 * f1 > 0) throw error("ValueError", "f(a) and f(b) must have different signs");
    for (let i = 0; i < 100; i++) {
      if (f0 !== 0 && f1 !== 0 && Math.sign(f0) !== Math.sign(f1)) { xb = x0; fb = f0; spare = step = x1 - x0; }
      if (Math.abs(fb) < Math.abs(f1)) { x0 = x1; x1 = xb; xb = x0; f0 = f1; f1 = fb; fb = f0; }
      const delta = (xtol + rtol * Math.abs(x1)) / 2, half = (xb - x1) / 2;
      if (f1 === 0 || Math.abs(half) < delta) return x1;
      if (Math.abs(spare) > delta && Math.abs(f1) < Math.abs(f0)) {
        let guess;
        if (x0 === xb) guess = -f1 * (x1 - x0) / (f1 - f0);
        else { const d0 = (f0 - f1) / (x0 - x1), db = (fb - f1) / (xb - x1); guess = -f1 * (fb * db - f0 * d0) / (db * d0 * (fb - f0)); }
        if (2 * Math.abs(guess) < Math.min(Math.abs(spare), 3 * Math.abs(half) - delta)) { spare = step; step = guess; } else { spare = half; step = half; }
      } else { spare = half; step = half; }
      x0 = x1; f0 = f1;
      x1 += Math.abs(step) > delta ? step : half > 0 ? delta : -delta;
      f1 = $.call(f, x1);
    }
    return x1;
  }, ["f", "a", "b", "xtol", "rtol"]);
  put("scipy.optimize", { brentq });
})();
