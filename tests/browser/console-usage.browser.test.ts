import { afterEach, expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

const DEFAULT_THRESHOLDS = [50, 80, 95, 100];

describeInBrowser("the warning thresholds on the console's screen Usage", (fixture) => {
  const workspaceId = CONSOLE_WORKSPACE;
  const readThresholds = async () => (await fixture.service.admin.workspaces.showUsage({ workspaceId })).thresholds;

  afterEach(async () => {
    await fixture.service.admin.workspaces.setUsageThresholds({ workspaceId, thresholds: DEFAULT_THRESHOLDS });
  });

  it("can be changed by an owner, and the form keeps and explains a wrong entry", async () => {
    const { page } = await openConsole(fixture);
    await page.signIn("/usage", "Usage");
    const list = page.tab.getByRole("list", { name: "Warning thresholds" });
    await eventually(() => list.locator("strong").allInnerTexts()).toEqual(["50 %", "80 %", "95 %", "100 %"]);
    await page.button("Change the thresholds").press("Enter");
    const field = page.field("Warning thresholds").and(page.tab.locator("input"));
    expect(await field.inputValue()).toBe("50, 80, 95, 100");
    await field.fill("50, 120");
    await page.button("Save").press("Enter");
    const formatError = "Write at most ten different whole numbers from 1 to 100, separated by commas.";
    await page.tab.getByText(formatError).waitFor();
    expect(await field.inputValue()).toBe("50, 120");
    expect(await readThresholds()).toEqual(DEFAULT_THRESHOLDS);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("usage-thresholds");
    await field.fill("90 %, 60،60, 100,");
    await page.button("Save").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe("The warning thresholds were changed.");
    await eventually(() => list.locator("strong").allInnerTexts()).toEqual(["60 %", "90 %", "100 %"]);
    expect(await readThresholds()).toEqual([60, 90, 100]);
    await eventually(() => page.focusedName()).toBe("Change the thresholds");

    await page.button("Change the thresholds").press("Enter");
    await field.fill("");
    await page.button("Save").press("Enter");
    // The form hides the list before the thresholds are saved.
    await eventually(readThresholds).toEqual([]);
    await list.waitFor({ state: "hidden" });
    await page.savePicture("usage");
    expect(page.problems).toEqual([]);
  });

  it("are only shown to a viewer", async () => {
    const { page } = await openConsole(fixture);
    await page.signInAs("demo-viewer", "/usage");
    await page.tab.getByRole("list", { name: "Warning thresholds" }).getByText("95 %").waitFor();
    expect(await page.button("Change the thresholds").count()).toBe(0);
    expect(page.problems).toEqual([]);
  });
});
