"""Python to JavaScript, for the part of the language that the package is written in.

The page runs the package's own modules: each becomes one JavaScript function that returns its names. Operators, calls
and attributes become calls of runtime/python.js, which does what Python does. What has no counterpart (a `match`, a
complex number) makes its function raise when it is called, and nothing else.
"""

from __future__ import annotations

import ast
import builtins
import json

RESERVED = {
    "arguments", "await", "case", "catch", "const", "debugger", "default", "delete", "do", "enum", "eval", "export",
    "extends", "function", "implements", "instanceof", "interface", "let", "new", "null", "package", "private",
    "protected", "public", "static", "super", "switch", "this", "throw", "typeof", "undefined", "var", "void", "Object",
    "Array", "Math", "Number", "String", "Map", "Set", "true", "false", "Symbol", "Infinity", "NaN", "Error",
}  # fmt: skip
BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
COMPARED = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne", ast.In: "in",
    ast.NotIn: "notin", ast.Is: "is", ast.IsNot: "isnot",
}  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.ClassDef)


class Unsupported(Exception):
    """A part of Python that is not translated."""


def translated(source: str, name: str, package: bool) -> str:
    """A module as a JavaScript expression: a function of the runtime that returns the module's names."""
    return Translation(name, package).module(ast.parse(source))


class Scope:
    """The names that a module, a function, a class or a comprehension binds."""

    def __init__(self, kind: str, names: set[str]) -> None:
        self.kind, self.names = kind, names


def bound(body: list[ast.stmt]) -> set[str]:
    """The names that statements bind in their own scope."""
    names, outer = set[str](), set[str]()

    def visit(node: ast.AST) -> None:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
                for decorator in node.decorator_list:
                    visit(decorator)
                return
            case ast.Lambda():
                return
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                for child in ast.walk(node):  # a name that := binds in here belongs to the scope around
                    if isinstance(child, ast.NamedExpr):
                        names.add(child.target.id)
                return
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case ast.Nonlocal() | ast.Global():
                outer.update(node.names)
            case ast.ExceptHandler(name=str(caught)):
                names.add(caught)
            case ast.Import() | ast.ImportFrom():
                names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    for statement in body:
        visit(statement)
    return names - outer


def called(name: str) -> str:
    return name + "$" if name in RESERVED else name


def text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def own_yields(body: list[ast.stmt]) -> bool:
    """Whether a function with this body is a generator."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, FUNCTIONS):
            todo.extend(ast.iter_child_nodes(node))
    return False


class Translation:
    """One module on its way."""

    def __init__(self, name: str, package: bool) -> None:
        self.name, self.package, self.scopes, self.classes, self.caught = name, package, list[Scope](), list[str](), 0
        self.unpacked = 0

    def module(self, tree: ast.Module) -> str:
        self.scopes.append(Scope("module", bound(tree.body) | {"__name__", "__file__"}))
        names = sorted(self.scopes[0].names)
        body = self.block(tree.body)
        getters = ",".join(f"{text(name)}:()=>{called(name)}" for name in names)
        declared = ",".join(map(called, names))
        return (
            f"($)=>{{let {declared};__name__={text(self.name)};__file__={text(self.name)};"
            f"$.names($.module,{{{getters}}});\n{body}}}"
        )

    # Statements.

    def block(self, body: list[ast.stmt]) -> str:
        return "\n".join(filter(None, map(self.statement, body)))

    def statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return ""
            case ast.Expr(value=value):
                return self.value(value) + ";"
            case ast.FunctionDef():
                return self.store(ast.Name(node.name, ast.Store()), self.decorated(node, self.function(node)))
            case ast.ClassDef():
                return self.class_(node)
            case ast.Return(value=value):
                return f"return {'null' if value is None else self.value(value)};"
            case ast.Assign(targets=[target], value=value):
                return self.store(target, self.value(value))
            case ast.Assign(targets=targets, value=value):
                stored = "".join(self.store(target, "$v") for target in targets)
                return f"{{const $v={self.value(value)};{stored}}}"
            case ast.AnnAssign(target=target, value=value):
                return "" if value is None else self.store(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                return self.augmented(target, BINARY[type(op)], self.value(value))
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return ""
            case ast.If(test=test, body=body, orelse=orelse):
                other = f"else{{{self.block(orelse)}}}" if orelse else ""
                return f"if({self.truth(test)}){{{self.block(body)}}}{other}"
            case ast.While(test=test, body=body, orelse=[]):
                return f"while({self.truth(test)}){{{self.block(body)}}}"
            case ast.For(target=target, iter=over, body=body, orelse=[]):
                stored = self.store(target, "$o")
                return f"for(const $o of $.iter({self.value(over)})){{{stored}{self.block(body)}}}"
            case ast.Break():
                return "break;"
            case ast.Continue():
                return "continue;"
            case ast.With(items=items, body=body):
                return self.with_(items, body)
            case ast.Raise(exc=None):
                return f"throw $e{self.caught};"
            case ast.Raise(exc=error):
                return f"throw $.raised({self.value(error)});"
            case ast.Try():
                return self.try_(node)
            case ast.Assert(test=test):
                return f'if(!({self.truth(test)}))throw $.error("AssertionError",{text(ast.unparse(test))});'
            case ast.Import(names=names):
                return "".join(
                    self.store(
                        ast.Name(alias.asname or alias.name.partition(".")[0], ast.Store()),
                        f"$.require({text(alias.name if alias.asname else alias.name.partition('.')[0])})",
                    )
                    for alias in names
                )
            case ast.ImportFrom(module="__future__"):
                return ""
            case ast.ImportFrom(module=str(module), names=names):
                return "".join(
                    self.store(
                        ast.Name(alias.asname or alias.name, ast.Store()),
                        f"$.imported({text(module)},{text(alias.name)})",
                    )
                    for alias in names
                )
            case ast.Nonlocal() | ast.Global():
                return ""
        raise Unsupported(f"{self.name}, line {node.lineno}: {type(node).__name__}")

    def store(self, target: ast.expr, value: str) -> str:
        match target:
            case ast.Name(id=name):
                return f"{self.named(name)}={value};"
            case ast.Attribute(value=of, attr=attribute):
                return f"$.setattr({self.value(of)},{text(attribute)},{value});"
            case ast.Subscript(value=of, slice=index):
                return f"$.set({self.value(of)},{self.value(index)},{value});"
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                starred = [i for i, part in enumerate(parts) if isinstance(part, ast.Starred)]
                if starred:
                    after = len(parts) - 1 - starred[0]
                    taken = f"$.unpack_starred({value},{starred[0]},{after})"
                else:
                    taken = f"$.unpack({value},{len(parts)})"
                plain = [part.value if isinstance(part, ast.Starred) else part for part in parts]
                self.unpacked += 1
                whole = f"$u{self.unpacked}"
                stored = "".join(self.store(part, f"{whole}[{i}]") for i, part in enumerate(plain))
                return f"{{const {whole}={taken};{stored}}}"
        raise Unsupported(f"{self.name}, line {target.lineno}: {type(target).__name__} as a target")

    def augmented(self, target: ast.expr, operator: str, value: str) -> str:
        match target:
            case ast.Name(id=name):
                return f"{self.named(name)}=$.inplace({text(operator)},{self.named(name)},{value});"
            case ast.Attribute(value=of, attr=attribute):
                return f"$.augment_attribute({text(operator)},{self.value(of)},{text(attribute)},{value});"
            case ast.Subscript(value=of, slice=index):
                return f"$.augment_item({text(operator)},{self.value(of)},{self.value(index)},{value});"
        raise Unsupported(f"{self.name}, line {target.lineno}: augmented {type(target).__name__}")

    def with_(self, items: list[ast.withitem], body: list[ast.stmt]) -> str:
        if not items:
            return self.block(body)
        first, *rest = items
        entered = "$w.__enter__()"
        stored = f"{entered};" if first.optional_vars is None else self.store(first.optional_vars, entered)
        inside = f"{stored}try{{{self.with_(rest, body)}}}finally{{$w.__exit__(null,null,null);}}"
        return f"{{const $w={self.value(first.context_expr)};{inside}}}"

    def try_(self, node: ast.Try) -> str:
        self.caught += 1
        error, handlers = f"$e{self.caught}", []
        for handler in node.handlers:
            test = "true" if handler.type is None else f"$.isinstance({error},{self.value(handler.type)})"
            named = "" if handler.name is None else self.store(ast.Name(handler.name, ast.Store()), error)
            handlers.append(f"if({test}){{{named}{self.block(handler.body)}}}")
        self.caught -= 1
        caught = ""
        if handlers:
            caught = f"catch($x){{const {error}=$.caught($x);{'else '.join(handlers)}else throw {error};}}"
        last = f"finally{{{self.block(node.finalbody)}}}" if node.finalbody else ""
        if node.orelse:
            after = f"if($ok){{{self.block(node.orelse)}}}"
            return f"{{let $ok=false;try{{{self.block(node.body)}$ok=true;}}{caught}{last}{after}}}"
        return f"try{{{self.block(node.body)}}}{caught}{last}"

    def class_(self, node: ast.ClassDef) -> str:
        fields = [
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and not ast.unparse(each.annotation).startswith("ClassVar")
        ]
        bases = ",".join(map(self.value, node.bases))
        self.scopes.append(Scope("class", bound(node.body)))
        self.classes.append(node.name)
        body = self.block(node.body)
        self.classes.pop()
        self.scopes.pop()
        named = self.named(node.name)
        made = f"$.class_({text(node.name)},[{bases}],$c=>{{{body}}},{json.dumps(fields)},$k=>{{{named}=$k;}})"
        decorated = self.decorated(node, made)
        return f"{named}={decorated};"

    def decorated(self, node: ast.FunctionDef | ast.ClassDef, value: str) -> str:
        for decorator in reversed(node.decorator_list):
            value = f"$.call({self.value(decorator)},{value})"
        return value

    def function(self, node: ast.FunctionDef) -> str:
        try:
            static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list)
            return self.function_of(node.name, node.args, node.body, static)
        except Unsupported as missing:
            while self.scopes[-1].kind == "function":  # those that were left in the middle
                self.scopes.pop()
            return f"$.missing({text(node.name)},{text(str(missing))})"

    def function_of(self, name: str, args: ast.arguments, body: list[ast.stmt] | ast.expr, static: bool = False) -> str:
        method = self.scopes[-1].kind == "class" and not static and not isinstance(body, ast.expr)
        depth, caught, self.caught = len(self.scopes), self.caught, 0
        positional, only = (
            [each.arg for each in (*args.posonlyargs, *args.args)],
            [each.arg for each in args.kwonlyargs],
        )
        defaults = dict(zip(reversed(positional), reversed(args.defaults), strict=False))
        defaults |= {name: value for name, value in zip(only, args.kw_defaults, strict=True) if value is not None}
        given = {name: self.value(value) for name, value in defaults.items()}
        star, rest = args.vararg and args.vararg.arg, args.kwarg and args.kwarg.arg
        every = [*positional, *([star] if star else []), *only, *([rest] if rest else [])]
        locals_ = set() if isinstance(body, ast.expr) else bound(body)
        self.scopes.append(Scope("function", locals_ | set(every)))
        try:
            lines = f"return {self.value(body)};" if isinstance(body, ast.expr) else self.block(body)
        finally:
            del self.scopes[depth:]
            self.caught = caught
        generator = not isinstance(body, ast.expr) and own_yields(body)
        end = "" if generator or isinstance(body, ast.expr) else "return null;"
        fresh = sorted(locals_ - set(every))
        declared = f"let {','.join(map(called, fresh))};" if fresh else ""
        own = ""
        if method and positional:
            own, positional = f"let {called(positional[0])}=this;", positional[1:]
        names, mark = [*positional, *only], "*" if generator else ""
        if star or rest:
            taken = ",".join(map(called, [*positional, *([star] if star else []), *only, *([rest] if rest else [])]))
            shape = f"{json.dumps(positional)},{json.dumps(only)},{json.dumps(bool(star))},{json.dumps(bool(rest))}"
            filled = "".join(f"if({called(n)}===undefined){called(n)}={given[n]};" for n in names if n in given)
            head = f"...$a){{{own}let [{taken}]=$.bound($a,{shape});{filled}"
            flags = ",true"
        else:
            head = ",".join(called(n) + (f"={given[n]}" if n in given else "") for n in names) + f"){{{own}"
            flags = ""
        made = f"$.{'method' if method else 'function'}(function{mark} {name}$f({head}{declared}{lines}{end}}}"
        return f"{made},{json.dumps(names)}{flags})"

    # Expressions.

    def named(self, name: str) -> str:
        for depth, scope in enumerate(reversed(self.scopes)):
            if name in scope.names and (scope.kind != "class" or depth == 0):
                return f"$c.{name}" if scope.kind == "class" else called(name)
        if not hasattr(builtins, name):
            raise Unsupported(f"{self.name}: no name {name}")
        return f"$.builtins.{name}"

    def truth(self, node: ast.expr) -> str:
        match node:
            case ast.BoolOp(op=op, values=values):
                return f"({('&&' if isinstance(op, ast.And) else '||').join(map(self.truth, values))})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!{self.truth(operand)}"
        return f"$.truth({self.value(node)})"

    def value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.Name(id=name):
                return self.named(name)
            case ast.Attribute(value=of, attr=attribute):
                return f"$.attr({self.value(of)},{text(attribute)})"
            case ast.Subscript(value=of, slice=index):
                return f"$.get({self.value(of)},{self.value(index)})"
            case ast.Slice(lower=lower, upper=upper, step=step):
                parts = ("null" if part is None else self.value(part) for part in (lower, upper, step))
                return f"$.slice({','.join(parts)})"
            case ast.Call():
                return self.call(node)
            case ast.BinOp(left=left, op=op, right=right):
                if type(op) not in BINARY:
                    raise Unsupported(f"{self.name}, line {node.lineno}: {type(op).__name__}")
                return f"$.{BINARY[type(op)]}({self.value(left)},{self.value(right)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"(!{self.truth(operand)})"
            case ast.UnaryOp(op=op, operand=operand):
                kind = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}[type(op)]
                return f"$.{kind}({self.value(operand)})"
            case ast.BoolOp(op=op, values=[first, *rest]):
                kind = "both" if isinstance(op, ast.And) else "either"
                others = ",".join(f"()=>{self.value(each)}" for each in rest)
                return f"$.{kind}({self.value(first)},{others})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return f"$.{COMPARED[type(op)]}({self.value(left)},{self.value(right)})"
            case ast.Compare(left=left, ops=ops, comparators=others):
                places = [f"$p{i}" for i in range(len(others) + 1)]
                steps = [f"$.{COMPARED[type(op)]}({places[i]},{places[i + 1]})" for i, op in enumerate(ops)]
                tested = "&&".join([*(f"$.truth({step})" for step in steps[:-1]), steps[-1]])
                return f"(({','.join(places)})=>{tested})({','.join(map(self.value, [left, *others]))})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.truth(test)}?{self.value(body)}:{self.value(orelse)})"
            case ast.Tuple(elts=elements):
                return f"$.tuple([{self.listed(elements)}])"
            case ast.List(elts=elements):
                return f"[{self.listed(elements)}]"
            case ast.Set(elts=elements):
                return f"$.set_([{self.listed(elements)}])"
            case ast.Dict(keys=keys, values=values):
                entries = (
                    f"...$.entries({self.value(value)})" if key is None else f"[{self.value(key)},{self.value(value)}]"
                    for key, value in zip(keys, values, strict=True)
                )
                return f"$.dict([{','.join(entries)}])"
            case ast.ListComp(elt=element, generators=generators):
                return self.comprehension(generators, lambda: f"$r.push({self.value(element)});", "[]", "$r")
            case ast.SetComp(elt=element, generators=generators):
                return self.comprehension(generators, lambda: f"$r.push({self.value(element)});", "[]", "$.set_($r)")
            case ast.DictComp(key=key, value=value, generators=generators):
                filled = lambda: f"$r.push([{self.value(key)},{self.value(value)}]);"  # noqa: E731
                return self.comprehension(generators, filled, "[]", "$.dict($r)")
            case ast.GeneratorExp(elt=element, generators=generators):
                return self.generator(generators, element)
            case ast.Lambda(args=args, body=body):
                return self.function_of("", args, body)
            case ast.JoinedStr(values=values):
                return "(" + "+".join(["''", *map(self.formatted, values)]) + ")"
            case ast.NamedExpr(target=target, value=value):
                return f"({self.named(target.id)}={self.value(value)})"
            case ast.Yield(value=value):
                return f"(yield {'null' if value is None else self.value(value)})"
            case ast.Starred(value=value):
                return f"...$.iter({self.value(value)})"
        raise Unsupported(f"{self.name}, line {node.lineno}: {type(node).__name__}")

    def listed(self, elements: list[ast.expr]) -> str:
        return ",".join(map(self.value, elements))

    def constant(self, value: object) -> str:
        if value is None:
            return "null"
        if value is Ellipsis:
            return "$.Ellipsis"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return text(value)
        if isinstance(value, bytes):
            return text(value.decode("latin-1"))
        if isinstance(value, int | float):
            return repr(value)
        raise Unsupported(f"{self.name}: the constant {value!r}")

    def formatted(self, part: ast.expr) -> str:
        if isinstance(part, ast.Constant):
            return text(str(part.value))
        assert isinstance(part, ast.FormattedValue)
        shown = self.value(part.value)
        if part.conversion == ord("r"):
            shown = f"$.repr({shown})"
        return f"$.format({shown},{'null' if part.format_spec is None else self.value(part.format_spec)})"

    def call(self, node: ast.Call) -> str:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return f"$.super_({self.classes[-1]},this)"
        placed, named = self.listed(node.args), ""
        if node.keywords:
            parts = (
                f"...$.entries({self.value(each.value)})"
                if each.arg is None
                else f"[{text(each.arg)},{self.value(each.value)}]"
                for each in node.keywords
            )
            named = f",new $.Keywords([{','.join(parts)}])"
        given = (placed + named).lstrip(",")
        if isinstance(node.func, ast.Attribute):
            end = f",{given}" if given else ""
            return f"$.call_method({self.value(node.func.value)},{text(node.func.attr)}{end})"
        end = f",{given}" if given else ""
        return f"$.call({self.value(node.func)}{end})"

    def loops(self, generators: list[ast.comprehension], inside: object) -> tuple[str, str]:
        """Nested loops around what `inside` writes, and where the first of them runs over."""
        names = set[str]()
        for each in generators:
            names |= {child.id for child in ast.walk(each.target) if isinstance(child, ast.Name)}
        first = self.value(generators[0].iter)
        self.scopes.append(Scope("comprehension", names))
        head, tail = f"let {','.join(map(called, sorted(names)))};", ""
        for number, each in enumerate(generators):
            over = "$0" if number == 0 else self.value(each.iter)
            tests = "".join(f"if(!{self.truth(test)})continue;" for test in each.ifs)
            head += f"for(const $o of $.iter({over})){{{self.store(each.target, '$o')}{tests}"
            tail += "}"
        body = head + inside() + tail  # type: ignore[operator]
        self.scopes.pop()
        return body, first

    def comprehension(self, generators: list[ast.comprehension], inside: object, empty: str, result: str) -> str:
        body, first = self.loops(generators, inside)
        return f"($0=>{{const $r={empty};{body}return {result};}})({first})"

    def generator(self, generators: list[ast.comprehension], element: ast.expr) -> str:
        body, first = self.loops(generators, lambda: f"yield {self.value(element)};")
        return f"(function*($0){{{body}}})({first})"
