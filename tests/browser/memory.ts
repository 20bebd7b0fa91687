import { expect } from "vitest";
import type { WidgetPage } from "./widget-page.ts";

/** A page's memory after a garbage collection. */
export interface Memory {
  readonly heapBytes: number;
  readonly nodes: number;
  readonly listeners: number;
}

export async function measureMemory({ page }: WidgetPage): Promise<Memory> {
  // After each answer, the widget keeps the connection open for up to 2 s.
  await page.waitForTimeout(2_500);
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  await client.send("HeapProfiler.collectGarbage");
  const { metrics } = await client.send("Performance.getMetrics");
  await client.detach();
  const readBrowserMetric = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return {
    heapBytes: readBrowserMetric("JSHeapUsedSize"),
    nodes: readBrowserMetric("Nodes"),
    listeners: readBrowserMetric("JSEventListeners"),
  };
}

/** Growth that counts as measurement noise. `ratio` applies to nodes and listeners. */
const NOISE = { ratio: 0.05, heapBytes: 1024 * 1024 };

export function expectNoGrowth(before: Memory, after: Memory, { ratio, heapBytes } = NOISE): void {
  expect(after.nodes).toBeLessThan(before.nodes * (1 + ratio));
  expect(after.listeners).toBeLessThan(before.listeners * (1 + ratio));
  expect(after.heapBytes).toBeLessThan(before.heapBytes + heapBytes);
}

/** Sends a message through `window.Parley` several times. Waits for each answer, and at least `everyMs` between two messages. */
export function askRepeatedly({ page }: WidgetPage, message: string, times: number, everyMs = 0): Promise<void> {
  return page.evaluate(
    async ([text, count, pauseMs]) => {
      for (let at = 0; at < count; at++) {
        const pause = new Promise((resolve) => setTimeout(resolve, pauseMs));
        const answered = new Promise<void>((resolve) => {
          const off = window.Parley?.on("message", ({ role }) => {
            if (role === "assistant") {
              off?.();
              resolve();
            }
          });
        });
        window.Parley?.send(text);
        await Promise.all([answered, pause]);
      }
    },
    [message, times, everyMs] as const,
  );
}
