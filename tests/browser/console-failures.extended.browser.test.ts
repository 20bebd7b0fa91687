import { expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot, addConversation } from "./console-bot.ts";
import { ConsolePage, openConsole } from "./console-page.ts";
import { describeInBrowserBeforeRelease, eventually } from "./fixture.ts";

const UNAVAILABLE = { status: 503, code: "unavailable", body: { code: "unavailable" } };

describeInBrowserBeforeRelease("failures in the console", (fixture) => {
  it("keeps the owner signed in and on the screen while the identity provider does not answer", async () => {
    const { page } = await openConsole(fixture);
    await page.signIn();
    const accept = await page.replaceResponses({ status: 401, body: { error: "token_expired" } });
    await page.tab.route("**/auth/refresh", (route) =>
      route.fulfill({ status: 503, json: { error: "sign_in_unavailable" } }),
    );
    await page.goto("/keys");
    await page.tab.getByText("The service is not available right now.").first().waitFor();
    expect(new URL(page.tab.url()).pathname).toBe("/keys");
    await page.tab.unroute("**/auth/refresh");
    await accept();
    await page.button("Try again").click();
    await page.tab.getByText("The service is not available right now.").first().waitFor({ state: "hidden" });
    await page.heading("Keys").waitFor();
  });

  it("when another user has signed in instead, shows that user's console", async () => {
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${await addBot(fixture.service)}`, "Bakery guide");
    await page.field("Name").fill("Baker");
    await page.tab.context().clearCookies();
    await page.button("Save").click();
    await page.tab.getByRole("alertdialog", { name: "Your session has ended" }).waitFor();
    const other = await ConsolePage.open(await page.tab.context().newPage(), fixture.service.system.consoleUrl);
    // The page asks before it leaves unsaved changes.
    page.tab.once("dialog", (dialog) => void dialog.accept());
    const reloaded = page.tab.waitForEvent("load");
    await other.signInAs("demo-viewer", "/signed-in");
    await reloaded;
    await page.tab.getByText("Viewer ·").first().waitFor();
  });

  it("asks to sign in again if the session ended before the dialog's code was loaded", async () => {
    const { page } = await openConsole(fixture);
    const { promise: mayLoad, resolve: load } = Promise.withResolvers<void>();
    await page.tab.route("**/assets/sign-in-dialog-*.js", async (route) => {
      await mayLoad;
      await route.continue();
    });
    await page.signIn("/keys", "Keys");
    await page.tab.context().clearCookies();
    await page.openScreen("Usage");
    load();
    await page.tab.getByRole("alertdialog", { name: "Your session has ended" }).waitFor();
  });

  it("without any session, shows the sign-in page with the screen's path in return_to", async () => {
    const { page } = await openConsole(fixture);
    await page.goto("/usage");
    await page.heading("Sign in to Parley").waitFor();
    expect(new URL(page.tab.url()).searchParams.get("return_to")).toBe("/usage");
  });

  it.each(["__proto__", "constructor", "unknown"])(
    "shows a general message on the sign-in page for the unknown error %s",
    async (error) => {
      const { page } = await openConsole(fixture);
      await page.goto(`/sign-in?error=${error}`);
      await page.tab.getByText("The sign-in failed. Try again in a minute.").waitFor();
      expect(page.problems).toEqual([]);
    },
  );

  it("refreshes an expired access token when the owner sends a message in the playground", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/playground?bot=${bot}`, "Playground");
    const expired = { status: 401, json: { error: "token_expired" } };
    await page.tab.route("**/api/chat/playground/", (route) => route.fulfill(expired), { times: 1 });
    const refreshed = page.tab.waitForResponse("**/auth/refresh");
    await page.preview.locator("textarea").fill("When is the delivery of bread?");
    await page.preview.locator("textarea").press("Enter");
    expect((await refreshed).status()).toBe(200);
    await page.preview.locator(".assistant .rating").first().waitFor();
    expect(page.problems).toEqual([]);
  });

  it("shows why an export is refused, and stays on the screen", async () => {
    const { page } = await openConsole(fixture);
    // No slug contains NUL.
    await page.signIn("/conversations?bot=%00", "Conversations");
    await page.tab.getByText("must not contain NUL").waitFor();
    await page.button("Export").click();
    await page.tab.getByRole("menuitem", { name: /^CSV/ }).click();
    await eventually(() => page.announcement.innerText()).toContain("One of the filters is not valid.");
    await page.tab.route("**/export.ndjson?*", (route) =>
      route.fulfill({ status: 429, json: { detail: "too_many_exports" } }),
    );
    await page.button("Export").click();
    await page.tab.getByRole("menuitem", { name: /^NDJSON/ }).click();
    await eventually(() => page.announcement.innerText()).toContain(
      "Two exports of this workspace are running already.",
    );
    await page.heading("Conversations").waitFor();
    expect(new URL(page.tab.url()).pathname).toBe("/conversations");
    // Chromium reports each of the two refused requests as an error.
    expect(page.problems.filter((text) => !/status of 4(?:00|29)/.test(text))).toEqual([]);
  });

  it("adds a text of 100,000 characters of three bytes each", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}&title=面包`, "Knowledge");
    await page.field("Text").fill("早上烤面包。".repeat(20_000).slice(0, 100_000));
    await page.button("Add text").click();
    await eventually(() => page.announcement.innerText(), 30_000).toBe("The text was added.");
    await page.button("Remove 面包").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("keeps what an owner types while a bot is being saved", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/bots/${bot}`, "Bakery guide");
    await page.field("Name").fill("Baker");
    const save = await page.holdCalls("UpdateBot");
    await page.button("Save").click();
    await page.button("Saving…").waitFor();
    await page.field("Name").fill("Baker of the town");
    await page.field("Colour").fill("#0a7d45");
    save();
    await eventually(() => page.announcement.innerText()).toContain("Saved.");
    await page.tab.getByText("You have unsaved changes.").waitFor();
    expect(await page.field("Name").inputValue()).toBe("Baker of the town");
    expect(await page.field("Colour").inputValue()).toBe("#0a7d45");
    await page.button("Save").click();
    await page.tab.getByText("All changes are saved.").waitFor();
    const { bot: stored } = await fixture.service.admin.bots.getBot({ workspaceId: CONSOLE_WORKSPACE, slug: bot });
    expect(stored?.display).toMatchObject({ name: "Baker of the town", primaryColor: "#0a7d45" });
    expect(page.problems).toEqual([]);
  });

  it("keeps what an owner types while a page, a text or a question is being added", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    // Only the page's address is sent as JSON. The text is really added.
    await page.tab.route("**/AddSource", (route) =>
      route.request().headers()["content-type"] === "application/json" ? route.fulfill({ json: {} }) : route.fallback(),
    );
    const releaseSources = await page.holdCalls("AddSource");
    await page.field("Address of a page").fill("https://a.example/");
    await page.button("Add page").click();
    await page.button("Fetching…").waitFor();
    await page.field("Address of a page").fill("https://b.example/");
    await page.tab.getByText("Write a text").click();
    await page.field("Title").fill("Opening hours");
    await page.field("Text").fill("At six in the morning.");
    await page.button("Add text").click();
    await page.button("Adding…").waitFor();
    await page.field("Text").fill("At six in the morning, except on Mondays.");
    releaseSources();
    await page.button("Remove Opening hours").waitFor();
    await page.button("Add text").waitFor();
    await page.button("Add page").waitFor();
    expect(await page.field("Address of a page").inputValue()).toBe("https://b.example/");
    expect(await page.field("Title").inputValue()).toBe("Opening hours");
    expect(await page.field("Text").inputValue()).toBe("At six in the morning, except on Mondays.");
    await page.button("Add text").click();
    await eventually(() => page.field("Text").inputValue()).toBe("");
    expect(await page.field("Title").inputValue()).toBe("");

    await page.goto(`/evaluation?bot=${bot}`);
    const releaseCases = await page.holdCalls("AddCase");
    await page.field("Question").fill("When is bread delivered?");
    await page.button("Add question").click();
    await page.button("Adding…").waitFor();
    await page.field("Question").fill("Who delivers it?");
    releaseCases();
    await page.button("Remove When is bread delivered?").waitFor();
    await page.button("Add question").waitFor();
    expect(await page.field("Question").inputValue()).toBe("Who delivers it?");
    await page.button("Add question").click();
    await page.button("Remove Who delivers it?").waitFor();
    await eventually(() => page.field("Question").inputValue()).toBe("");
    expect(page.problems).toEqual([]);
  });

  it("disables the fields of a dialog while its rule is being saved, and focuses the same field again after an error", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/moderation?bot=${bot}`, "Moderation");
    await page.button("New rule").click();
    const dialog = page.tab.getByRole("dialog", { name: "New rule" });
    await page.field("Kind").selectOption("pattern");
    await page.field("Pattern").fill("(?=look)");
    const release = await page.holdCalls("AddPattern");
    await page.field("Pattern").press("Enter");
    await page.button("Saving…").waitFor();
    expect(await page.field("Pattern").isDisabled()).toBe(true);
    expect(await page.field("Applies to").isDisabled()).toBe(true);
    release();
    await dialog.getByRole("alert").waitFor();
    await eventually(() => page.field("Pattern").evaluate((field) => field === document.activeElement)).toBe(true);
    await page.field("Pattern").fill("bread");
    await page.field("Pattern").press("Enter");
    await dialog.waitFor({ state: "hidden" });
    await page.button("Edit the rule bread").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("keeps a new dialog open when the rule of an earlier, cancelled dialog is added", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/moderation?bot=${bot}`, "Moderation");
    await page.button("New rule").click();
    await page.field("Words").fill("bread");
    const release = await page.holdCalls("AddPattern");
    await page.button("Add rule").click();
    await page.button("Saving…").waitFor();
    await page.button("Cancel").click();
    await page.button("New rule").click();
    await page.field("Words").fill("cake");
    release();
    await page.tab.locator("li", { hasText: "bread" }).waitFor();
    expect(await page.field("Words").inputValue()).toBe("cake");
    await page.button("Add rule").click();
    await page.button("Edit the rule cake").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("keeps a dialog open when Escape cancels an IME composition, or when the owner closes an error message", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/moderation?bot=${bot}`, "Moderation");
    await page.replaceResponses(UNAVAILABLE, "RemovePattern");
    const release = await page.holdCalls("RemovePattern");
    await page.button("Remove the rule refund").click();
    await page.button("Remove").click();
    await page.button("New rule").click();
    await page.field("Words").fill("bread");
    await page.field("Words").dispatchEvent("keydown", { key: "Escape", isComposing: true, keyCode: 229 });
    release();
    await page.tab.getByLabel("Close the message").click();
    await page.announcement.waitFor({ state: "detached" });
    expect(await page.field("Words").inputValue()).toBe("bread");
    await page.field("Words").press("Escape");
    await page.field("Words").waitFor({ state: "detached" });
  });

  it("reports a file that the browser cannot read, such as a folder", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.tab.evaluate(() => {
      Blob.prototype.arrayBuffer = () => Promise.reject(new DOMException("It is a folder.", "NotReadableError"));
    });
    await page.dropFile("notes.md", "# Notes");
    await eventually(() => page.announcement.innerText()).toContain("notes.md: The file cannot be read.");
    expect(page.problems).toEqual([]);
  });

  it("names the connection as the problem if it breaks during an upload", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.tab.route("**/AddSource", (route) => route.abort("internetdisconnected"));
    await page.dropFile("opening.md", "# Opening hours\n\nAt six in the morning.");
    await eventually(() => page.announcement.innerText()).toContain(
      "opening.md: The console cannot be reached. Check your connection, then try again.",
    );
  });

  it("hides an announcement that is not an error while a dialog is open, but lets screen readers read it", async () => {
    await addBot(fixture.service);
    const { page, context } = await openConsole(fixture);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.signIn("/keys", "Keys");
    await page.tab
      .getByRole("button", { name: /^Embed the key of Bakery guide/ })
      .first()
      .click();
    const dialog = page.tab.getByRole("dialog", { name: "Put the bot on your site" });
    await page.button("Copy the HTML").click();
    await eventually(() => page.announcement.innerText()).toBe("Copied.");
    const opacity = () => page.announcement.evaluate((message) => getComputedStyle(message).opacity);
    expect(await opacity()).toBe("0");
    await page.tab.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(await opacity()).toBe("1");
    expect(page.problems).toEqual([]);
  });

  it("announces which documents of an upload were not added, and why", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    await page.dropFile("table.ods", "x");
    await eventually(() => page.announcement.innerText()).toContain("table.ods: Only .txt, .md, .html, ");
    await page.dropFile("opening.md", "# Opening hours\n\nAt six in the morning.");
    await eventually(() => page.announcement.innerText()).toContain("The document was added.");
    expect(page.problems).toEqual([]);
  });

  it("uploads one large document at a time and three small ones, even if more files are dropped during an upload", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    const upload = Promise.withResolvers<void>();
    await page.tab.route("**/AddSource", async (route) => {
      await upload.promise;
      await route.continue();
    });
    const large = `# Large\n\n${"A sentence. ".repeat(30_000)}`;
    await page.dropFiles({ "large-1.md": large, "large-2.md": large, "a.md": "# A\n\nOne.", "b.md": "# B\n\nTwo." });
    await page.tab.getByLabel("Upload of large-1.md").waitFor();
    await page.dropFiles({ "c.md": "# C\n\nThree.", "d.md": "# D\n\nFour." });
    const waiting = () => page.tab.locator(".upload", { hasText: "Waiting" }).locator("strong").allInnerTexts();
    await eventually(waiting).toEqual(["large-2.md", "d.md"]);
    upload.resolve();
    await page.tab.getByText("6 of 6 uploaded", { exact: true }).waitFor({ timeout: 30_000 });
    expect(page.problems).toEqual([]);
  });

  it("announces nothing if a text is dropped instead of a file", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    const announced = page.tab.evaluate(
      () =>
        new Promise<string[]>((resolve) => {
          const texts: string[] = [];
          new MutationObserver(() => {
            texts.push(document.querySelector(".announcement")?.textContent ?? "");
            if (texts.at(-1)?.includes("table.ods")) resolve(texts);
          }).observe(document.querySelector(".announcements") as Element, { childList: true });
        }),
    );
    // Without a file, dropFiles drops a text.
    await page.dropFiles({});
    await page.dropFile("table.ods", "x");
    expect(await announced).toEqual([expect.stringContaining("table.ods: Only")]);
  });

  it("shows no forecast while the statistics are unavailable", async () => {
    const { page } = await openConsole(fixture);
    await page.signIn();
    await page.replaceResponses(UNAVAILABLE, "GetStatistics");
    await page.goto("/overview");
    await page.heading2("This month").waitFor();
    const hint = page.tab.getByRole("region", { name: "This month" }).locator(".hint");
    expect(await hint.innerText()).toMatch(/^The count restarts on \w+ \d+, \d+\.$/);
    await page.tab.getByText("The service is not available right now.").waitFor();
    expect(await hint.innerText()).toMatch(/^The count restarts on/);
  });

  it("shows the error of a failed sign-out until the owner closes it", async () => {
    const { page } = await openConsole(fixture);
    await page.signIn();
    await page.tab.route("**/auth/sign-out", (route) => route.fulfill({ status: 503, json: { error: "unavailable" } }));
    await page.tab.getByRole("button", { name: /Demo owner/ }).click();
    await page.tab.getByRole("menuitem", { name: "Sign out" }).click();
    await eventually(() => page.announcement.innerText()).toContain("The service is not available right now.");
    // Announcements that are not errors disappear after 5 s.
    await page.tab.waitForTimeout(5_500);
    expect(await page.announcement.count()).toBe(1);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.tabTo("Close the message");
    await page.tab.keyboard.press("Enter");
    await eventually(() => page.announcement.count()).toBe(0);
    await page.heading("Overview").waitFor();
  });

  it("stays on the page when a file is dropped outside the drop zone", async () => {
    const bot = await addBot(fixture.service);
    const { page } = await openConsole(fixture);
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    // `dispatchEvent` returns false if the page prevented the browser from opening the file.
    const isDefaultPrevented = await page.tab.locator("main").evaluate((main) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["x"], "x.txt"));
      return ["dragover", "drop"].map(
        (name) => !main.dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer })),
      );
    });
    expect(isDefaultPrevented).toEqual([true, true]);
  });

  it("moves the focus to the next document when one is removed, and to the main element when the last one is removed", async () => {
    const bot = await addBot(fixture.service);
    const content = Buffer.from("# Opening hours\n\nAt six in the morning.");
    await fixture.service.admin.knowledge.addSource({
      workspaceId: CONSOLE_WORKSPACE,
      botSlug: bot,
      name: "opening.md",
      format: "md",
      content,
    });
    const { page } = await openConsole(fixture);
    const { keyboard } = page.tab;
    await page.signIn(`/knowledge?bot=${bot}`, "Knowledge");
    const focused = () => page.tab.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.id);
    await page.button("Remove delivery.md").waitFor();
    await page.tabTo("Remove delivery.md");
    await keyboard.press("Enter");
    await page.tabTo("Remove");
    await keyboard.press("Enter");
    await page.button("Remove delivery.md").waitFor({ state: "detached" });
    await eventually(focused).toBe("Remove opening.md");
    await keyboard.press("Enter");
    await page.tabTo("Remove");
    await keyboard.press("Enter");
    await page.tab.getByText("No document yet").waitFor();
    await eventually(focused).toBe("main");
    expect(page.problems).toEqual([]);
  });

  it("when the last active key in the list is revoked, moves the focus to the active key before it", async () => {
    const [botSlug] = [await addBot(fixture.service), await addBot(fixture.service)];
    const { keys } = fixture.service.admin;
    const { key } = await keys.createKey({ workspaceId: CONSOLE_WORKSPACE, botSlug, domains: ["bakery.example"] });
    await keys.revokeKey({ workspaceId: CONSOLE_WORKSPACE, publicKey: key?.publicKey ?? "" });
    const { page } = await openConsole(fixture);
    await page.signIn("/keys", "Keys");
    const rows = page.tab.locator(".row.key:not(.revoked)");
    const revoke = rows.last().getByRole("button", { name: /^Revoke/ });
    const neighbour = await rows
      .nth(-2)
      .getByRole("button", { name: /^Embed/ })
      .innerText();
    await page.tabTo(revoke);
    await page.tab.keyboard.press("Enter");
    await page.tabTo("Revoke");
    await page.tab.keyboard.press("Enter");
    await eventually(() => page.announcement.innerText()).toMatch(/^The key was revoked\./);
    await eventually(() => page.tab.locator(":focus").innerText()).toBe(neighbour);
    expect(page.problems).toEqual([]);
  });

  it("shows the keys and the usage by bot if only the list of bots is unavailable", async () => {
    const bot = await addBot(fixture.service);
    await addConversation(fixture.service, bot);
    const { page } = await openConsole(fixture);
    await page.signIn();
    await page.replaceResponses(UNAVAILABLE, "ListBots");
    await page.goto("/usage");
    await page.heading2("By bot").waitFor();
    await page.tab.getByRole("link", { name: "Download CSV" }).waitFor();
    await page.goto("/keys");
    await page.tab.getByText("The service is not available right now.").first().waitFor();
    await page.tab
      .getByRole("button", { name: `Embed the key of ${bot}` })
      .first()
      .waitFor();
    expect(page.problems).toEqual([]);
  });
});
