import { generateKeyPairSync, randomUUID } from "node:crypto";
import { afterEach, expect, it } from "vitest";
import { CONSOLE_WORKSPACE } from "../system/console.ts";
import { addBot } from "./console-bot.ts";
import { openConsole } from "./console-page.ts";
import { describeInBrowser, eventually } from "./fixture.ts";

const PHONE = { width: 375, height: 812 };

describeInBrowser("the console's screen Visitors", (fixture) => {
  const workspaceId = CONSOLE_WORKSPACE;
  const listKeys = async () => (await fixture.service.admin.identityKeys.listIdentityKeys({ workspaceId })).keys;

  afterEach(async () => {
    for (const { kid } of await listKeys())
      await fixture.service.admin.identityKeys.revokeIdentityKey({ workspaceId, kid });
  });

  it("creates a secret, which it shows once, adds a public key, and revokes both, with the keyboard alone", async () => {
    const { page, context } = await openConsole(fixture);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const { keyboard } = page.tab;
    await page.signIn("/visitors", "Visitors");
    await page.tab.getByText("No identity key yet").waitFor();
    await page.tabTo("New identity key");
    await keyboard.press("Enter");
    await page.tabTo("Create key");
    await keyboard.press("Enter");
    const secretDialog = page.tab.getByRole("dialog", { name: "Copy the secret now" });
    const secret = await secretDialog.locator("code").innerText();
    expect(secret).toMatch(/^parley_visitor_/);
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture("visitors-secret");
    await page.tabTo("Copy the secret");
    await keyboard.press("Enter");
    await eventually(() => page.tab.evaluate(() => navigator.clipboard.readText())).toBe(secret);
    await keyboard.press("Escape");
    await secretDialog.waitFor({ state: "hidden" });
    const [created] = await listKeys();
    const row = (kid = "") => page.tab.getByRole("listitem").filter({ hasText: kid });
    await row(created?.kid).getByText("HS256").waitFor();
    expect(await page.tab.content()).not.toContain(secret);

    const { publicKey } = generateKeyPairSync("ed25519");
    const kid = `key-${randomUUID().slice(0, 8)}`;
    await page.button("New identity key").press("Enter");
    await page.field("Kind").selectOption("public");
    await page.field("Public key").fill("no key");
    await page.button("Create key").press("Enter");
    await page.tab.getByText("Public key must be a public key as PEM or JWK.").waitFor();
    expect(await page.findAxeViolations()).toEqual([]);
    await page.field("Public key").fill(JSON.stringify({ ...publicKey.export({ format: "jwk" }), kid }));
    await page.button("Create key").press("Enter");
    await eventually(() => page.announcement.innerText()).toBe(
      "The public key was added. Its tokens are accepted within seconds.",
    );
    await row(kid).getByText("EdDSA").waitFor();

    for (const each of [created?.kid ?? "", kid]) {
      await page.button(`Revoke the identity key ${each}`).press("Enter");
      await page.tab.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).press("Enter");
      await row(each).waitFor({ state: "hidden" });
    }
    expect(await listKeys()).toEqual([]);
    expect(page.problems).toEqual([]);
  });

  it("refuses a fifth identity key", async () => {
    for (let keys = 0; keys < 4; keys++) await fixture.service.admin.identityKeys.createIdentityKey({ workspaceId });
    const { page } = await openConsole(fixture);
    await page.signIn("/visitors", "Visitors");
    await page.button("New identity key").click();
    await page.button("Create key").click();
    await page.tab.getByText("A workspace can have at most 4 identity keys. Revoke one first.").waitFor();
    expect(page.problems).toEqual([]);
  });

  it("makes a public key require a token, and makes the token optional again", async () => {
    const botSlug = await addBot(fixture.service);
    const name = `Site ${randomUUID().slice(0, 8)}`;
    const { key } = await fixture.service.admin.keys.createKey({
      ...{ workspaceId, botSlug, name },
      domains: ["bakery.example"],
    });
    const readIdentity = async () =>
      (await fixture.service.admin.keys.listKeys({ workspaceId })).keys.find(
        ({ publicKey }) => publicKey === key?.publicKey,
      )?.identity;
    const { page } = await openConsole(fixture);
    await page.signIn("/visitors", "Visitors");
    const row = page.tab.getByRole("listitem").filter({ hasText: name });
    await row.getByText("Token optional").waitFor();
    const dialog = page.tab.getByRole("alertdialog");
    await page.button(`Require a token for the key ${name}`).press("Enter");
    expect(await page.findAxeViolations()).toEqual([]);
    await dialog.getByRole("button", { name: "Require a token" }).press("Enter");
    await row.getByText("Token required").waitFor();
    expect(await readIdentity()).toBe("required");
    await eventually(() => page.focusedName()).toBe(`Make the token optional for the key ${name}`);
    await page.button(`Make the token optional for the key ${name}`).press("Enter");
    await dialog.getByRole("button", { name: "Make optional" }).press("Enter");
    await row.getByText("Token optional").waitFor();
    expect(await readIdentity()).toBe("optional");
    expect(page.problems).toEqual([]);
  });

  it("chooses when a public key asks for a challenge", async () => {
    const botSlug = await addBot(fixture.service);
    const name = `Site ${randomUUID().slice(0, 8)}`;
    const { key } = await fixture.service.admin.keys.createKey({
      ...{ workspaceId, botSlug, name },
      domains: ["bakery.example"],
    });
    const readChallenge = async () =>
      (await fixture.service.admin.keys.listKeys({ workspaceId })).keys.find(
        ({ publicKey }) => publicKey === key?.publicKey,
      )?.challenge;
    const { page } = await openConsole(fixture);
    await page.signIn("/visitors", "Visitors");
    const choice = page.field(`When the key ${name} asks for a challenge`);
    expect(await choice.inputValue()).toBe("off");
    for (const [text, value] of [
      ["If the use is suspicious", "suspicious"],
      ["Always", "always"],
      ["Never", "off"],
    ] as const) {
      await choice.selectOption(text);
      await eventually(readChallenge).toBe(value);
      await eventually(() => choice.inputValue()).toBe(value);
    }
    // Two choices at once: the request of the first one is held, so that it would arrive last.
    await page.waitUntilQuiet();
    let finished = 0;
    page.tab.on("requestfinished", (request) => {
      if (request.url().endsWith("/UpdateKey")) finished++;
    });
    const release = await page.holdCalls("UpdateKey");
    await choice.selectOption("Always");
    await page.tab.unroute("**/api/rpc/*/UpdateKey");
    await choice.selectOption("If the use is suspicious");
    await page.waitUntilQuiet();
    release();
    await eventually(() => finished).toBe(2);
    expect(await readChallenge()).toBe("suspicious");
    await eventually(() => choice.inputValue()).toBe("suspicious");
    expect(await page.announcement.innerText()).toBe("The key was changed. The change applies within seconds.");
    expect(await page.findAxeViolations()).toEqual([]);
    expect(page.problems).toEqual([]);
  });

  it.each(["light", "dark"] as const)("is accessible and fits a phone in the %s theme", async (colorScheme) => {
    await addBot(fixture.service);
    await fixture.service.admin.identityKeys.createIdentityKey({ workspaceId });
    const { page } = await openConsole(fixture, { colorScheme });
    await page.signIn("/visitors", "Visitors");
    await page.tab.getByText("Token optional").first().waitFor();
    for (const language of ["Ruby", "Python", "PHP", "Node"]) {
      await page.field("Language of your backend").selectOption(language);
      await page.tab.locator("pre").getByText("PARLEY_VISITOR_SECRET").waitFor();
    }
    expect(await page.findAxeViolations()).toEqual([]);
    await page.savePicture(`visitors-${colorScheme}`);
    await page.tab.setViewportSize(PHONE);
    expect(await page.findAxeViolations()).toEqual([]);
    expect(await page.scrollsSideways()).toBe(false);
    await page.savePicture(`visitors-${colorScheme}-phone`);
  });
});
