import type { Dashboard, Panel } from "./panel.ts";

const WIDTH = 24;
const STAT_HEIGHT = 4;
const CHART_HEIGHT = 8;
const SCHEMA_VERSION = 39;

// biome-ignore lint/suspicious/noTemplateCurlyInString: a Grafana variable
const DATASOURCE = { type: "prometheus", uid: "${datasource}" };

export function grafanaJson({ uid, title, description, rows }: Dashboard): object {
  const panels: object[] = [];
  let id = 0;
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: ++id,
      type: "row",
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: WIDTH, h: 1 },
      panels: [],
    });
    y += 1;
    const { length: count } = row.panels;
    // Three charts per line if that leaves no line incomplete, otherwise two.
    const chartWidth = count % 3 === 0 ? WIDTH / 3 : WIDTH / 2;
    let x = 0;
    for (const panel of row.panels) {
      const w = panel.stat ? WIDTH / count : chartWidth;
      const h = panel.stat ? STAT_HEIGHT : CHART_HEIGHT;
      if (x + w > WIDTH) {
        x = 0;
        y += h;
      }
      panels.push({ id: ++id, ...panelJson(panel), gridPos: { x, y, w, h } });
      x += w;
    }
    y += row.panels.at(-1)?.stat ? STAT_HEIGHT : CHART_HEIGHT;
  }
  return {
    uid,
    title,
    description,
    tags: ["parley"],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    // Shares the crosshair between the panels.
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    timezone: "",
    templating: { list: [datasourceVariable(), namespaceVariable()] },
    annotations: { list: [] },
    links: [
      { type: "dashboards", tags: ["parley"], asDropdown: false, includeVars: true, keepTime: true, title: "Parley" },
    ],
    panels,
  };
}

function panelJson(panel: Panel): object {
  const { title, shows, normal, action, unit, queries, stat, stacked, max, thresholds = [] } = panel;
  // Grafana's first step has no lower bound. No value is negative, so a threshold at 0 becomes the first step.
  const startsAtZero = thresholds[0]?.value === 0;
  const steps = [
    { color: startsAtZero ? thresholds[0]?.color : "green", value: null },
    ...thresholds.filter(({ value }) => value > 0),
  ];
  return {
    type: stat ? "stat" : "timeseries",
    title,
    // Grafana renders the description as Markdown.
    description: `${shows}\n\nNormal: ${normal}\n\nAct: ${action}`,
    datasource: DATASOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource: DATASOURCE,
      editorMode: "code",
      range: true,
      expr,
      legendFormat: legend,
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(max === undefined ? {} : { max }),
        thresholds: { mode: "absolute", steps },
        ...(stat ? { noValue: "–" } : { custom: lineStyle(stacked, thresholds.length > 0) }),
      },
      overrides: [],
    },
    options: stat
      ? {
          reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
          colorMode: "value",
          graphMode: "area",
          textMode: "auto",
        }
      : {
          legend: { displayMode: "list", placement: "bottom", showLegend: true },
          tooltip: { mode: "multi", sort: "desc" },
        },
  };
}

function lineStyle(stacked: true | undefined, hasThresholds: boolean): object {
  return {
    drawStyle: "line",
    lineWidth: 1,
    fillOpacity: stacked ? 40 : 8,
    showPoints: "never",
    stacking: { mode: stacked ? "normal" : "none", group: "A" },
    thresholdsStyle: { mode: hasThresholds ? "line" : "off" },
  };
}

function datasourceVariable(): object {
  return {
    name: "datasource",
    type: "datasource",
    label: "Prometheus",
    query: "prometheus",
    // Reads the list of data sources when the dashboard loads.
    refresh: 1,
    // Shows the label and the value.
    hide: 0,
    current: {},
  };
}

/** One Prometheus may watch several installations, each in its own namespace. If metrics lack the label `namespace`, only "All" can be selected. */
function namespaceVariable(): object {
  const query = "label_values(parley_streams_open, namespace)";
  return {
    name: "namespace",
    type: "query",
    label: "Namespace",
    datasource: DATASOURCE,
    query: { query, refId: "namespace" },
    definition: query,
    // Reads the namespaces again when the time range changes.
    refresh: 2,
    // Sorts the namespaces alphabetically.
    sort: 1,
    includeAll: true,
    multi: true,
    allValue: ".*",
    current: { selected: true, text: ["All"], value: ["$__all"] },
  };
}
