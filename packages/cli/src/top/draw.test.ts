import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import type { Activity } from "./activity.ts";
import { drawActivity } from "./draw.ts";

const ACTIVITY: Activity = {
  replicas: [
    { service: "edge", url: "http://edge (10.0.0.1)", up: true },
    { service: "edge", url: "http://edge (10.0.0.2)", up: false },
    { service: "quota", url: "http://quota", up: true },
  ],
  streams_open: 12,
  tokens_per_second: 310.5,
  turns_per_second: 4.2,
  first_token: { p50_ms: 230, p99_ms: 1_900, window_seconds: 60 },
  own_first_token: { p50_ms: 12, p99_ms: 40, window_seconds: 60 },
  provider_first_token: [
    { provider: "groq", p50_ms: 90, p99_ms: null, window_seconds: null },
    { provider: "openai", p50_ms: 215, p99_ms: 1_870, window_seconds: 60 },
  ],
  refusals: [{ reason: "rate_limited", per_minute: 3, total: 12 }],
  quota: [
    { id: "acme", name: "Acme\u001b[2J 商店", plan: "pro", used: 4_990, held: 5, cap: 5_000 },
    { id: "b", name: "B", plan: "free", used: 1, held: 0, cap: 100 },
  ],
  breakers: [
    { provider: "openai", state: "closed" },
    { provider: "other", state: "half_open" },
  ],
  outbox: { depth: 0, oldest_seconds: null },
  rate_limiter_alone: false,
  problems: ["edge at http://edge (10.0.0.2) is unreachable"],
};
const WIDE = { width: 200, height: 100, color: false };

describe("drawActivity", () => {
  test("shows figures and problems as text without colour", () => {
    const text = drawActivity(ACTIVITY, WIDE).join("\n");
    expect(text).toContain("streams open  12");
    expect(text).toContain("tokens        310.5 a second");
    expect(text).toContain("first token   p50 230 ms, p99 1,900 ms, last 60 s");
    expect(text).toContain("  Parley      p50 12 ms, p99 40 ms");
    expect(text).toContain("  provider    groq p50 90 ms, p99 – ms; openai p50 215 ms, p99 1,870 ms");
    expect(text).toContain("outbox        0 turns to settle, the oldest – s");
    expect(text).toContain("breakers      openai closed, other HALF OPEN");
    expect(text).toContain(
      "replicas      edge 1 of 2 ready, conversation not configured, quota 1 of 1, llm-proxy not configured",
    );
    expect(text).toContain("! edge at http://edge (10.0.0.2) is unreachable");
    expect(text).toMatch(/^rate_limited +3 +12$/m);
    expect(text).toMatch(/^acme .* pro +4,990 +5 +5,000 +99 %$/m);
    // Control characters in stored text are escaped.
    expect(text).not.toContain("\u001b");
  });

  test("shows one turn of the outbox in the singular", () => {
    const lines = drawActivity({ ...ACTIVITY, outbox: { depth: 1, oldest_seconds: 2 } }, WIDE);
    expect(lines.join("\n")).toContain("outbox        1 turn to settle, the oldest 2 s");
  });

  test("reports that an edge made its last rate limit decision without Redis, not that Redis is unavailable now", () => {
    expect(drawActivity({ ...ACTIVITY, rate_limiter_alone: true }, WIDE).join("\n")).toContain(
      "! an edge made its last rate limit decision on its own: Redis did not respond",
    );
  });

  test("fits into the width and height of the terminal", () => {
    for (const color of [true, false])
      for (const width of [1, 17, 40, 80])
        for (const height of [0, 1, 5, 24]) {
          const lines = drawActivity(ACTIVITY, { width, height, color });
          expect(lines.length).toBeLessThanOrEqual(height);
          for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
        }
  });

  test("colours problems and resets the colour at each line end", () => {
    const colored = drawActivity(ACTIVITY, { ...WIDE, color: true }).filter((line) => line.includes("\u001b"));
    expect(colored.some((line) => line.startsWith("\u001b[31macme"))).toBe(true);
    expect(colored).toContain("\u001b[31m              ! edge at http://edge (10.0.0.2) is unreachable\u001b[0m");
    for (const line of colored) expect(line.endsWith("\u001b[0m")).toBe(true);
  });

  test("shows a dash or a message for missing values", () => {
    const empty = { ...ACTIVITY, streams_open: null, quota: null, refusals: [], breakers: [], problems: ["no token"] };
    const text = drawActivity(empty, WIDE).join("\n");
    expect(text).toContain("streams open  –");
    expect(text).toContain("No refusals.");
    expect(text).toContain("Quota usage is unavailable.");
    expect(text).toContain("! no token");
  });
});
