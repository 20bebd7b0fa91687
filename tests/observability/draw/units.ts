/** A value as Grafana shows it in one of the units that the dashboards use. */
export function formatted(value: number, unit: string): string {
  switch (unit) {
    case "s":
      return seconds(value);
    case "percentunit":
      return `${plain(value * 100)} %`;
    case "bytes":
      return bytes(value);
    case "reqps":
      return `${plain(value)} req/s`;
    case "suffix:/s":
      return `${plain(value)}/s`;
    default:
      return plain(value);
  }
}

function seconds(value: number): string {
  if (value === 0) return "0 s";
  if (value < 0.001) return `${plain(value * 1e6)} µs`;
  if (value < 1) return `${plain(value * 1e3)} ms`;
  return value < 60 ? `${plain(value)} s` : `${plain(value / 60)} min`;
}

function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  const power = value < 1 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), units.length - 1);
  return `${plain(value / 1024 ** power)} ${units[power]}`;
}

/** Three significant digits, thousands as k and M. */
function plain(value: number): string {
  if (value >= 1e6) return `${trimmed(value / 1e6)} M`;
  if (value >= 1e4) return `${trimmed(value / 1e3)} k`;
  return trimmed(value);
}

function trimmed(value: number): string {
  if (value >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

const MINUTES = [60, 120, 300, 600, 1_800, 3_600];

/** Round values from 0 on that reach `max`, about `count` of them; in bytes and minutes, round ones of those. */
export function ticks(max: number, count: number, unit: string): number[] {
  const step = stepOf(max, count, unit);
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, index) => index * step);
}

function stepOf(max: number, count: number, unit: string): number {
  if (unit === "s" && max > 120) return MINUTES.find((each) => each * count >= max) ?? max / count;
  const base = unit === "bytes" ? 2 ** Math.floor(Math.log2(max / count)) : 10 ** Math.floor(Math.log10(max / count));
  return [1, 2, 2.5, 5, 10].map((factor) => base * factor).find((each) => each * count >= max) ?? base * 10;
}
