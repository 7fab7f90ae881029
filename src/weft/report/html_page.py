"""What reports as HTML have in common: the style, and pages of their own without anything from elsewhere."""

from __future__ import annotations

from html import escape

STYLE = """
.weft { --text: #222; --back: #fff; --muted: #6b6b6b; --good: #1a7f37; --strided: #0b7285; --affine: #1c5cb8;
  --varying: #9a5b00; --bad: #c0182b; --mark: #fff5f5; --line: #d8d8d8; --area: #cfe3ff;
  --thread: #1c5cb8; --next: #e8590c;
  font-family: system-ui, sans-serif; line-height: 1.4; color: var(--text); background: var(--back); padding: .5em }
.weft table { border-collapse: collapse; font-family: ui-monospace, monospace; font-size: 90% }
.weft td, .weft th { padding: 0 .6em; text-align: left; white-space: pre; border: 0; vertical-align: top }
.weft th, .weft .muted, .weft .number { color: var(--muted); font-weight: normal }
.weft .number, .weft .cost { text-align: right }
.weft .uniform { color: var(--good) } .weft .strided { color: var(--strided) } .weft .affine { color: var(--affine) }
.weft .varying { color: var(--varying) } .weft .diverges, .weft .error { color: var(--bad); font-weight: bold }
.weft .warning { color: var(--varying); font-weight: bold }
.weft tr.partly td.source { background: var(--mark) }
.weft td.cost { background: linear-gradient(to left, var(--area) var(--share, 0%), transparent 0);
  background-size: 100% 1.4em; background-repeat: no-repeat }
.weft summary { cursor: pointer; list-style-position: outside }
.weft td.source details > ul { white-space: normal; font-family: system-ui, sans-serif; margin: .2em 0 .6em }
.weft td.source { padding-left: 1.4em }
.weft td.source summary, .weft td.code summary { list-style: none }
.weft td.source summary::-webkit-details-marker, .weft td.code summary::-webkit-details-marker { display: none }
.weft td.source summary::before { content: "▸"; position: absolute; margin-left: -1em; color: var(--muted) }
.weft td.source details[open] > summary::before { content: "▾" }
.weft td.source .opens, .weft td.code summary { text-decoration: underline dotted var(--muted) }
.weft td.code { text-align: right } .weft td.code pre { text-align: left; margin: .2em 0 .6em; font-size: 90%;
  max-height: 24em; overflow-y: auto }
.weft .sides table { font-size: 80% } .weft .sides td:nth-child(3) { white-space: normal; min-width: 8em }
.weft section > details { margin: .6em 0 } .weft section > details > summary { list-style-position: inside }
.weft .sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(26em, 1fr)); gap: 1.5em }
.weft .sides > div { min-width: 0 } .weft .better { color: var(--good) } .weft .worse { color: var(--bad) }
.weft .hint::before { content: "hint: "; font-weight: bold }
.weft ol.because { margin: .2em 0 .6em; font-size: 90%; color: var(--muted); list-style: "↳ " }
""".strip()

_PAGE_STYLE = """
@media (prefers-color-scheme: dark) {
  .weft { --text: #e4e4e4; --back: #16181c; --muted: #a0a4aa; --good: #56d364; --strided: #66d9e8; --affine: #8ab8ff;
    --varying: #f0b35a; --bad: #ff8a93; --mark: #33191c; --line: #3a3f47; --area: #1d3557; --thread: #8ab8ff;
    --next: #ffa94d }
  body { background: #16181c }
}
body { margin: 0 auto; max-width: 80em }
.weft a { color: var(--affine) }
.weft :focus-visible { outline: 3px solid var(--affine); outline-offset: 2px }
.weft .scroll { overflow-x: auto }
@media print {
  .weft { --text: #000; --back: #fff; --muted: #444; --line: #999; --area: #dbe9ff; --thread: #1c5cb8; --next: #b34700 }
  body { background: #fff; max-width: none }
  .weft nav { display: none }
  .weft .scroll { overflow: visible } .weft td.code pre { max-height: none }
  .weft td, .weft th { white-space: pre-wrap }
  .weft figure, .weft tr { break-inside: avoid }
}
""".strip()


def document(title: str, fragment: str, style: str = "") -> str:
    """A page with a fragment in its body; more `style` comes behind that of all pages."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title></head>\n"
        f"<body>{fragment}<style>{_PAGE_STYLE}{style}</style></body></html>\n"
    )
