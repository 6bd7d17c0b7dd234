#include "charts.hpp"

namespace cli {

// Applications have colours that people with any colour vision can tell apart (Okabe and Ito); policies and
// pools have others, so that none is taken for another.
const char* const report_style = R"css(
:root { color-scheme: light dark; --paper: #fff; --ink: #1d1f21; --pale: #6b7075; --lane: #5050400f; --line: #dcdcd7;
  --best: #e3f1e4; --mark: #000a;
  --p0: #2f62c9; --p1: #c8500a; --p2: #14805c; --p3: #b8288a; --p4: #8a6d00; --p5: #6b4bb0; --p6: #a5222b; --p7: #5d6b73; --p8: #0089a8; --p9: #6f8f00; --p10: #e0589a; --p11: #8a4b1f; }
@media (prefers-color-scheme: dark) { :root { --paper: #15171a; --ink: #e4e4e1; --pale: #9aa0a6; --lane: #ffffff0f;
  --line: #373b40; --best: #1f3d2a; --mark: #fffa;
  --p0: #7aa5ff; --p1: #ff9a57; --p2: #4fcf9f; --p3: #f285cd; --p4: #d9bb45; --p5: #b59cf5; --p6: #ff8088; --p7: #a9b6be; --p8: #5cd6f0; --p9: #b9d84a; --p10: #ff9fcb; --p11: #d69a6b; } }
* { box-sizing: border-box; }
body { margin: 1.5rem auto 4rem; max-width: 1240px; padding: 0 1.25rem; font: 15px/1.45 system-ui, sans-serif;
  background: var(--paper); color: var(--ink); }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: .95rem; margin: 1.1rem 0 .3rem; } p { margin: .4rem 0; }
section { scroll-margin-top: 4rem; } #timelines > section + section { border-top: 1px solid var(--line); margin-top: 1.6rem; }
nav { margin: .8rem 0; } nav a { display: inline-block; margin-right: 1rem; color: inherit; }
.hint, .hint span { color: var(--pale); font-size: .87rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; font-size: .84rem; }
th, td { padding: .22rem .5rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--pale); } th:first-child, td:first-child, .text { text-align: left; }
td.best { background: var(--best); font-weight: 650; }
.legend span { display: inline-block; margin-right: 1.1rem; }
i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; background: var(--c); }
svg.picture { display: block; width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--ink); font-size: 12px; } .axis text, text.name { fill: var(--pale); text-anchor: middle; }
.axis path, .rule { stroke: var(--line); stroke-width: .8; fill: none; } .axis.scale text, text.row { text-anchor: end; }
text.pale { fill: var(--pale); font-size: 11px; }
.a0 { --c: #0072B2; } .a1 { --c: #E69F00; } .a2 { --c: #009E73; } .a3 { --c: #CC79A7; }
.a4 { --c: #56B4E9; } .a5 { --c: #D55E00; } .a6 { --c: #B8A800; } .a7 { --c: #808080; }
.p0 { --c: var(--p0); } .p1 { --c: var(--p1); } .p2 { --c: var(--p2); } .p3 { --c: var(--p3); }
.p4 { --c: var(--p4); } .p5 { --c: var(--p5); } .p6 { --c: var(--p6); } .p7 { --c: var(--p7); }
.p8 { --c: var(--p8); } .p9 { --c: var(--p9); } .p10 { --c: var(--p10); } .p11 { --c: var(--p11); }
.curves .p6, .curves .p7, .curves .p8, .curves .p9, .curves .p10, .curves .p11 { stroke-dasharray: 7 3; }
h1 + .result { font-size: 1.2rem; margin: 0 0 .6rem; }
.l0 { --c: #1f9aa8; } .l1 { --c: #d0487a; } .l2 { --c: #7d9b26; } .l3 { --c: #8f6be0; }
.l4 { --c: #c98a1b; } .l5 { --c: #4f83d6; } .l6 { --c: #a0674b; } .l7 { --c: #8a8f94; }
.curves path { stroke: var(--c); fill: none; stroke-width: 1.8; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.curves:hover path { opacity: .3; } .curves path:hover { opacity: 1; stroke-width: 3; }
.box path { stroke: var(--c); } .box rect { fill: var(--c); fill-opacity: .45; stroke: var(--c); }
.box .median { stroke: var(--ink); stroke-width: 2; } .box:hover rect { fill-opacity: .8; }
.lane { fill: var(--lane); } .b { fill: var(--c); stroke: var(--paper); stroke-width: .9; paint-order: stroke;
  vector-effect: non-scaling-stroke; }
.fine .b { stroke-width: .25; }
.gone { fill: var(--paper); }
.capacity { fill: none; stroke: var(--ink); stroke-width: 1.4; pointer-events: none; vector-effect: non-scaling-stroke; }
.restart { stroke: var(--mark); stroke-width: 1.2; fill: none; pointer-events: none; vector-effect: non-scaling-stroke; }
.dense .restart { stroke-width: .6; opacity: .6; } .plain .restart { display: none; } .dot { fill: var(--c); fill-opacity: .75; stroke: var(--paper); stroke-width: .5; }
.bar { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; justify-content: space-between;
  background: var(--paper); border-bottom: 1px solid var(--line); padding: .15rem 0; }
.bar p { margin: .2rem 0; } [hidden] { display: none !important; }
button, select { font: inherit; padding: .1rem .5rem; margin-left: .3rem; }
select { margin-left: 0; } .side h3 { margin-bottom: 0; }
.differences { display: grid; grid-template-columns: minmax(300px, 460px) minmax(0, 1fr); gap: 1.5rem; }
.most tr:hover td { background: var(--lane); } .most td { cursor: pointer; max-width: 15rem; overflow: hidden; text-overflow: ellipsis; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.5rem; }
.drag { fill: var(--ink); opacity: .15; pointer-events: none; }
.cross { stroke: var(--ink); stroke-width: .8; pointer-events: none; }
#tip { position: fixed; z-index: 9; max-width: 30rem; padding: .35rem .6rem; border-radius: 4px; font-size: .85rem;
  white-space: pre-line; pointer-events: none; background: var(--ink); color: var(--paper); font-variant-numeric: tabular-nums; }
@media (max-width: 800px) {
  .differences, .pair { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .scroll { overflow-x: auto; } .scroll > svg.picture { min-width: 44rem; } .pair .scroll > svg.picture { min-width: 26rem; }
}
@media print { .bar { position: static; } .tools { display: none; } }
)css";

}  // namespace cli
