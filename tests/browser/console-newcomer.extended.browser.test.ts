import type { RunningProcess } from "@parley/test-support";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createInstance, type Instance, startInstance } from "../system/local-start.ts";
import { ConsolePage } from "./console-page.ts";
import { describeInBrowserBeforeRelease, eventually } from "./fixture.ts";

const MAX_START_MS = 300_000;
/** Limit for all steps from the sign-in to the conversation's sources. */
const MAX_STEPS_MS = 120_000;

describeInBrowserBeforeRelease("a newcomer who runs `start`", (fixture) => {
  let instance: Instance;
  let parley: RunningProcess;
  beforeAll(async () => {
    instance = await createInstance();
    parley = await startInstance(instance);
  });
  afterAll(async () => {
    await parley.stop("SIGINT", 60_000);
    await instance.remove();
  }, 90_000);

  it(
    "changes the widget's colour, adds a document, gets an answer from it and reads the conversation with its sources, within two minutes of the sign-in",
    async () => {
      // While other browser tests run, a start takes several times its usual time.
      await eventually(() => parley.stdout(), MAX_START_MS).toContain("Press Ctrl-C to stop");
      const [, address = ""] = /Console\s+(http:\S+)/.exec(parley.stdout()) ?? [];
      expect(parley.stdout()).toMatch(/Model\s+builtin:extractive/);
      const page = await ConsolePage.open(await (await fixture.newContext()).newPage(), address);
      const { keyboard } = page.tab;
      const follow = async (name: string) => {
        await page.tabTo(page.tab.getByRole("link", { name, exact: true }), "Shift+Tab");
        await keyboard.press("Enter");
        await page.heading(name).waitFor();
      };
      await page.goto("/");
      await page.heading("Sign in to Parley").waitFor();

      const startedAtMs = performance.now();
      await page.tabTo("Sign in");
      await keyboard.press("Enter");
      await page.heading("Overview").waitFor();
      await follow("Bots");
      await page.tab.getByRole("link", { name: /Parley guide/ }).waitFor();
      await page.tabTo(/Parley guide/);
      await keyboard.press("Enter");
      await page.heading("Parley guide").waitFor();

      const launcher = page.preview.locator("parley-widget .launcher");
      await page.tabTo("Colour");
      await keyboard.press("Control+a");
      await keyboard.type("#0a7d45");
      await eventually(() => launcher.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe(
        "rgb(10, 125, 69)",
      );
      await keyboard.press("Enter");
      await eventually(() => page.announcement.innerText()).toContain("Saved.");

      await follow("Knowledge");
      await page.dropFile("opening-hours.md", "# Opening hours\n\nThe lighthouse bakery opens at half past five.");
      await eventually(() => page.announcement.innerText()).toContain("The document was added.");
      await page.button("Remove opening-hours.md").waitFor();
      await page.tabTo(page.preview.locator("textarea"));
      await keyboard.type("When does the lighthouse bakery open?");
      await keyboard.press("Enter");
      await page.preview.locator(".assistant .rating").first().waitFor();
      expect(await page.preview.locator(".messages").innerText()).toContain(
        "The lighthouse bakery opens at half past five.",
      );

      // The widget keeps the focus until Escape closes it.
      await keyboard.press("Escape");
      await follow("Conversations");
      const list = page.tab.getByRole("list", { name: "Conversations" });
      await list.getByRole("link").first().waitFor();
      expect(await list.getByRole("link").count()).toBe(1);
      await page.tabTo(/2 messages/);
      await keyboard.press("Enter");
      await page.tab.getByText("When does the lighthouse bakery open?").waitFor();
      await page.tabTo(/passages? of knowledge/);
      await keyboard.press("Enter");
      await page.tab.getByText("opening-hours.md").first().waitFor();
      expect(performance.now() - startedAtMs).toBeLessThan(MAX_STEPS_MS);
      expect(page.problems).toEqual([]);
    },
    MAX_START_MS + MAX_STEPS_MS,
  );
});
