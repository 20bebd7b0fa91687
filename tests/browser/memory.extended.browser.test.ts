import { expect, it } from "vitest";
import { describeInBrowserBeforeRelease } from "./fixture.ts";
import { askRepeatedly, expectNoGrowth, measureMemory } from "./memory.ts";
import { reply } from "./widget-page.ts";

describeInBrowserBeforeRelease("memory", (fixture) => {
  it("leaks no memory between the 200th and the 500th message", async () => {
    const widget = await fixture.visitAndOpen();
    // The 250 chat requests below get this reply.
    await widget.streamChat(reply("An **answer** of [some](https://x.example) length.\n\n- one\n- two"), 250);
    // Fills the panel to its limit of 200 messages.
    await askRepeatedly(widget, "message", 100);
    const before = await measureMemory(widget);
    await askRepeatedly(widget, "message", 150);
    // Without a leak, 150 answers add no node, no listener and less than 100 KiB.
    expectNoGrowth(before, await measureMemory(widget), { ratio: 0.02, heapBytes: 512 * 1024 });
    expect(await widget.messages.count()).toBe(200);
    expect(widget.problems).toEqual([]);
  }, 180_000);

  // Only `pnpm test:full` runs this.
  const soakMinutes = process.env.PARLEY_TEST_FULL ? Number(process.env.PARLEY_SOAK_MINUTES || 30) : 0;
  it.runIf(soakMinutes > 0)(
    `leaks no memory over ${soakMinutes} minutes of answers from the running services`,
    async () => {
      const widget = await fixture.visitAndOpen();
      const perMinute = 50;
      // The fake provider replies to "slow 10" with ten words, one every 40 ms.
      const ask = (times: number) => askRepeatedly(widget, "slow 10", times, 60_000 / perMinute);
      await ask(100);
      const before = await measureMemory(widget);
      await ask(perMinute * soakMinutes - 100);
      expectNoGrowth(before, await measureMemory(widget));
      expect(await widget.messages.count()).toBe(200);
      expect(widget.problems).toEqual([]);
    },
    (soakMinutes + 10) * 60_000,
  );
});
