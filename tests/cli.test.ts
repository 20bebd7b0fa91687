import { generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixedUsage, freePort, startTcpProxy } from "@parley/test-support";
import { SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { defineTopTests } from "./cli/top-suite.ts";
import { chat } from "./system/chat.ts";
import { cliEnv, runCliInChildProcess, runCliInProcess, runCliJson } from "./system/cli.ts";
import { databaseOf, queryFirstRow } from "./system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

// Most commands run in this process. At least one command for each exit code, and each command that uses a terminal, runs in its own process.

// A command takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let system: System;
let env: Record<string, string>;
let tenant: Tenant;
let dir: string;

beforeAll(async () => {
  system = await startSystem();
  env = cliEnv(system);
  tenant = await createTenant(system.admin);
  dir = await mkdtemp(join(tmpdir(), "parley-cli-"));
});

afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
  await system.stop();
});

const json = <T>(...args: string[]) => runCliJson<T>(args, env);
const run = (...args: string[]) => runCliInProcess(args, env);
const workspaceArgs = () => ["--workspace", tenant.workspaceId];
const botArgs = () => [...workspaceArgs(), "--bot", tenant.botSlug];

describe("parley plan", () => {
  it("lists the plans with their limits, and changes how much knowledge a plan permits", async () => {
    const free = { name: "free", cap: 100, overage: 0, knowledge_documents: 500, knowledge_characters: 10_000_000 };
    expect(await json("plan", "set", "free", "--documents", "7")).toEqual({ ...free, knowledge_documents: 7 });
    expect(await json("plan", "set", "free", "--documents", "500", "--characters", "10000000")).toEqual(free);
    expect(await json("plan", "list")).toContainEqual(free);
    expect((await run("plan", "list")).stdout).toMatch(
      /^PLAN +MESSAGES A MONTH +OVERAGE +DOCUMENTS +CHARACTERS\nfree /,
    );
  });
});

describe("parley workspace", () => {
  it("creates and lists a workspace, and changes its plan and retention", async () => {
    const created = await json<{ id: string }>("workspace", "create", "--name", "Acme", "--plan", "free");
    expect(created).toEqual({ id: expect.any(String), name: "Acme", plan: "free" });
    expect(await json("workspace", "set-plan", created.id, "scale")).toEqual({ ...created, plan: "scale" });
    expect(await json("workspace", "set", created.id, "--retention", "30m")).toMatchObject({ retention_minutes: 30 });
    expect((await run("workspace", "set", created.id, "--retention", "30d")).stdout).toMatch(
      /^sessions kept +30 days$/m,
    );
    expect(await json("workspace", "list")).toContainEqual({
      ...created,
      plan: "scale",
      cap: 25_000,
      max_knowledge_documents: 10_000,
      max_knowledge_characters: 250_000_000,
      retention_minutes: 43_200,
      created_at: expect.stringMatching(/Z$/),
      deleted_at: "",
    });
  });

  it("refuses a retention out of range, with the option's name and the range", async () => {
    for (const retention of ["9m", "3651d", "1w"]) {
      const { code, stderr } = await run("workspace", "set", "org-1", "--retention", retention);
      expect(code).not.toBe(0);
      expect(stderr).toContain(
        `'--retention <time>' argument '${retention}' is invalid. It must be a time from 10m to 3650d`,
      );
    }
  });

  it("creates a workspace with a given id, and refuses that id the second time", async () => {
    const args = ["workspace", "create", "--name", "Taken", "--plan", "pro", "--id", "org-7"];
    expect(await json(...args)).toMatchObject({ id: "org-7" });
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^parley: .*exists.*: use another --id, or omit it\n$/);
  });
});

describe("parley bot", () => {
  it("creates a bot with every option, changes some, shows it and lists it", async () => {
    const { workspaceId } = tenant;
    const textsFile = join(dir, "texts.json");
    await writeFile(textsFile, '{"de":{"welcome_message":"Hallo","words":{"send":"Los"}}}');
    const created = await json(
      ...["bot", "create", "--workspace", workspaceId, "--slug", "helper", "--model", "openai:default"],
      ...[
        "--system-prompt",
        "Be brief.",
        "--fallback",
        "No.",
        "--time-zone",
        "Europe/Berlin",
        "--visitor-messages-per-day",
        "20",
        "--temperature",
        "0.25",
        "--max-output-tokens",
        "300",
        "--name",
        "Helper",
        "--welcome-message",
        "Hi",
      ],
      ...["--consent-text", "We store this.", "--consent-version", "2026-12"],
      ...["--consent-link", "https://shop.example/privacy"],
      ...["--logo-url", "https://shop.example/logo.svg", "--primary-color", "#123456", "--position", "bottom-left"],
      ...["--theme-mode", "dark", "--font-family", "serif", "--border-radius", "4"],
      ...["--quick-reply", "One", "--quick-reply", "Two", "--css-var", "--gap=4px", "--css-var", "--pad=a=b"],
      ...["--texts", textsFile, "--show-sources", "links"],
      ...["--handoff-enabled", "on", "--handoff-wait-seconds", "60", "--handoff-hours", "mon-fri 09:00-17:30"],
      ...["--handoff-after-declined", "2", "--handoff-after-badly-rated", "3"],
    );
    const expected = {
      id: expect.any(String),
      workspace_id: workspaceId,
      slug: "helper",
      model: "openai:default",
      system_prompt: "Be brief.",
      fallback: "No.",
      time_zone: "Europe/Berlin",
      visitor_messages_per_day: 20,
      temperature: 0.25,
      max_output_tokens: 300,
      reasoning_effort: "",
      consent_text: "We store this.",
      consent_version: "2026-12",
      consent_link: "https://shop.example/privacy",
      show_sources: "links",
      handoff_enabled: true,
      handoff_wait_seconds: 60,
      handoff_hours: ["mon-fri 09:00-17:30"],
      handoff_after_declined: 2,
      handoff_after_badly_rated: 3,
      display: {
        name: "Helper",
        welcome_message: "Hi",
        logo_url: "https://shop.example/logo.svg",
        primary_color: "#123456",
        position: "bottom-left",
        theme_mode: "dark",
        font_family: "serif",
        border_radius: 4,
        quick_replies: ["One", "Two"],
        custom_css_vars: { "--gap": "4px", "--pad": "a=b" },
        texts: {
          de: { welcome_message: "Hallo", fallback: "", consent_text: "", quick_replies: [], words: { send: "Los" } },
        },
      },
      created_at: expect.any(String),
    };
    expect(created).toEqual(expected);
    const { stdout } = await run("bot", "show", ...workspaceArgs(), "--slug", "helper");
    for (const line of [
      /^time zone +Europe\/Berlin$/m,
      /^visitor messages per day +20$/m,
      /^temperature +0\.25$/m,
      /^consent text +We store this\.$/m,
      /^border radius +4$/m,
      /^quick replies +One \| Two$/m,
      /^custom css vars +--gap: 4px; --pad: a=b$/m,
      /^texts +de$/m,
    ])
      expect(stdout).toMatch(line);
    const update = [
      "bot",
      "update",
      ...workspaceArgs(),
      "--slug",
      "helper",
      "--quick-reply",
      "",
      "--css-var",
      "",
      "--texts",
      "",
      "--model",
      "",
      "--consent-text",
      "",
    ];
    const display = { ...expected.display, quick_replies: [], custom_css_vars: {}, texts: {} };
    const changed = { ...expected, model: "", consent_text: "", display };
    expect(await json(...update)).toEqual(changed);
    expect(await json("bot", "show", "--workspace", workspaceId, "--slug", "helper")).toEqual(changed);
    expect(await json("bot", "list", "--workspace", workspaceId)).toContainEqual(changed);
  });

  it("refuses a file of texts that has another form", async () => {
    const textsFile = join(dir, "wrong-texts.json");
    for (const text of ["Hallo", '{"de":"Hallo"}', '{"de":{"welcome":"Hallo"}}']) {
      await writeFile(textsFile, text);
      const { code, stderr } = await run("bot", "update", ...workspaceArgs(), "--slug", "helper", "--texts", textsFile);
      expect(code).toBe(1);
      expect(stderr).toMatch(/wrong-texts\.json is no JSON of texts by language/);
    }
  });

  it("when the bot does not exist, names the command that lists bots", async () => {
    const { code, stderr } = await run("bot", "show", ...workspaceArgs(), "--slug", "nobody");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^parley: .*: list bots with parley bot list --workspace W\n$/);
  });
});

describe("a list of a workspace's bots, keys, canned replies or sessions", () => {
  it.each(["bot list", "key list", "identity-key list", "canned-reply list", "conversation list"])(
    "is an error, not an empty list, for an unknown workspace: parley %s",
    async (command) => {
      const { code, stdout, stderr } = await run(...command.split(" "), "--workspace", "nobody");
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toBe("parley: no such workspace: list workspaces with parley workspace list\n");
    },
  );

  it("is empty for a workspace that has none", async () => {
    const { id } = await json<{ id: string }>("workspace", "create", "--name", "New", "--plan", "free");
    for (const command of ["bot", "key", "identity-key", "canned-reply", "conversation"])
      expect(await json(command, "list", "--workspace", id)).toEqual([]);
  });
});

describe("parley key", () => {
  it("creates a key for several domains, changes its domains, and lists and revokes it", async () => {
    const created = await json<{ public_key: string }>(
      ...["key", "create", ...botArgs(), "--domain", "Shop.Example", "--domain", "*.shop.example"],
    );
    expect(created).toMatchObject({
      public_key: expect.stringMatching(/^svc_pk_/),
      bot_slug: tenant.botSlug,
      allowed_domains: expect.arrayContaining([expect.stringContaining("shop.example")]),
      revoked_at: "",
    });
    const updated = await json("key", "update", created.public_key, "--domain", "B.example", "--domain", "c.example");
    expect(updated).toEqual({ ...created, challenge: "off", allowed_domains: ["b.example", "c.example"] });
    const challenging = await json("key", "update", created.public_key, "--challenge", "suspicious");
    expect(challenging).toEqual({ ...(updated as object), challenge: "suspicious" });
    expect((await run("key", "list", ...workspaceArgs())).stdout).toMatch(/ suspicious /);
    const always = ["key", "create", ...botArgs(), "--domain", "d.example", "--challenge", "always"];
    expect(await json(...always)).toMatchObject({ challenge: "always" });
    expect((await run("key", "update", created.public_key, "--challenge", "never")).code).toBe(2);
    const revoked = await json<{ revoked_at: string }>("key", "revoke", created.public_key);
    expect(revoked).toEqual({ ...(challenging as object), revoked_at: expect.stringMatching(/Z$/) });
    expect(await json("key", "list", ...workspaceArgs())).toContainEqual(revoked);
  });
});

describe("parley identity-key", () => {
  type Created = { kid: string; secret: string };

  it("creates a secret, whose tokens verify visitors in the lists of conversations, and revokes it", async () => {
    const own = await createTenant(system.admin);
    const workspace = ["--workspace", own.workspaceId];
    const created = await json<Created>("identity-key", "create", ...workspace);
    const { secret, ...key } = created;
    expect(secret).toMatch(/^parley_visitor_/);
    expect(key).toEqual({
      kid: expect.any(String),
      algorithm: "HS256",
      workspace_id: own.workspaceId,
      created_at: expect.stringMatching(/Z$/),
    });
    expect(await json("identity-key", "list", ...workspace)).toEqual([key]);
    const listed = await run("identity-key", "list", ...workspace);
    expect(listed.stdout).toMatch(new RegExp(`^KID +ALGORITHM +CREATED\\n${key.kid} +HS256 +`));
    expect(listed.stdout).not.toContain(secret);

    const sign = (sub: string) =>
      new SignJWT({ sub })
        .setProtectedHeader({ alg: "HS256", kid: key.kid })
        .setExpirationTime("1h")
        .sign(new TextEncoder().encode(secret));
    const [verified, claimed] = [randomUUID(), randomUUID()];
    await chat(system.url(), own, { session_id: verified, visitor_token: await sign("customer-42") });
    await chat(system.url(), own, { session_id: claimed, visitor_id: "customer-42" });
    expect(await json("conversation", "list", ...workspace)).toMatchObject([
      { id: claimed, visitor_id: "customer-42", visitor_verified: false },
      { id: verified, visitor_id: "customer-42", visitor_verified: true },
    ]);
    const { stdout } = await run("conversation", "list", ...workspace);
    expect(stdout).toMatch(/^ID +BOT +SOURCE +VISITOR /);
    expect(stdout).toMatch(new RegExp(`^${verified} .* widget +verified `, "m"));
    expect(stdout).toMatch(new RegExp(`^${claimed} .* widget +claimed `, "m"));
    const shown = await run("conversation", "show", verified, ...workspace);
    expect(shown.stdout).toMatch(/^visitor +customer-42 \(verified\)$/m);

    expect(await json("identity-key", "revoke", key.kid, ...workspace)).toEqual({ kid: key.kid, revoked: true });
    expect(await json("identity-key", "list", ...workspace)).toEqual([]);
    const again = await run("identity-key", "revoke", key.kid, ...workspace);
    expect([again.code, again.stdout]).toEqual([1, ""]);
    expect(again.stderr).toMatch(/^parley: no such identity key.*\n$/);
  });

  it("adds public keys as PEM and JWK without a secret, at most four keys in total", async () => {
    const own = await createTenant(system.admin);
    const create = ["identity-key", "create", "--workspace", own.workspaceId];
    const { publicKey: ed25519 } = generateKeyPairSync("ed25519");
    const { publicKey: p256 } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const [pem, jwk] = [join(dir, "visitors.pem"), join(dir, "visitors.jwk")];
    await writeFile(pem, ed25519.export({ type: "spki", format: "pem" }));
    await writeFile(jwk, JSON.stringify({ ...p256.export({ format: "jwk" }), kid: "ours" }));
    const fromPem = await json<Created>(...create, "--public-key", pem);
    expect(fromPem).toMatchObject({ algorithm: "EdDSA" });
    expect(fromPem).not.toHaveProperty("secret");
    expect(await json(...create, "--public-key", jwk)).toMatchObject({ kid: "ours", algorithm: "ES256" });
    const taken = await run(...create, "--public-key", jwk);
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringMatching(/^parley: .*kid.*\n$/)]);

    expect((await run(...create)).stdout).toMatch(
      /^kid +\S+\nalgorithm +HS256\nworkspace +\S+\nsecret +parley_visitor_\S+ \(shown only now\)\n$/,
    );
    await json(...create);
    const fifth = await run(...create);
    expect([fifth.code, fifth.stderr]).toEqual([1, expect.stringMatching(/^parley: .*at most 4 identity keys.*\n$/)]);
  });

  it("refuses a file without a public key", async () => {
    const file = join(dir, "no-key.pem");
    const { privateKey } = generateKeyPairSync("ed25519");
    for (const [content, problem] of [
      ["", `${file} is empty`],
      ["visitors", "must be a public key as PEM or JWK"],
      [privateKey.export({ type: "pkcs8", format: "pem" }), "not the private key"],
    ] as const) {
      await writeFile(file, content);
      const { code, stdout, stderr } = await run("identity-key", "create", ...workspaceArgs(), "--public-key", file);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(problem);
    }
    expect(await json("identity-key", "list", ...workspaceArgs())).toEqual([]);
  });
});

describe("parley moderation", () => {
  it("adds, changes, lists and removes a pattern by its numeric id", async () => {
    const args = ["--pattern", "se(c|k)ret", "--fallback", "No."];
    const added = await json<{ id: number }>("moderation", "add", ...botArgs(), ...args);
    expect(added).toEqual({
      id: expect.any(Number),
      pattern: "se(c|k)ret",
      reason: expect.any(String),
      fallback: "No.",
      applies_to: "message",
      words: [],
    });
    expect(await json("moderation", "list", ...botArgs())).toEqual([added]);
    const check = (...more: string[]) =>
      json<{ pattern: { id: number } }[]>("moderation", "check", "nothing to block", ...botArgs(), ...more);
    expect(await check()).toEqual([]);
    expect(await check("--pattern", "block", "--on", "reply")).toEqual([
      expect.objectContaining({ blocks_message: false, blocks_reply: true }),
    ]);
    const update = (...more: string[]) => json("moderation", "update", String(added.id), ...botArgs(), ...more);
    const changed = await update("--on", "both", "--fallback", "");
    expect(changed).toEqual({ ...added, applies_to: "both", fallback: "" });
    expect(await update("--pattern", "other")).toEqual({ ...(changed as object), pattern: "other" });
    expect(await json("moderation", "remove", String(added.id), ...botArgs())).toEqual({ id: added.id, removed: true });
    expect(await json("moderation", "list", ...botArgs())).toEqual([]);
  });

  it("adds, checks, lists and changes a pattern made from words", async () => {
    const args = ["--words", "refund, Money back", "--on", "both"];
    const added = await json<{ id: number; pattern: string; words: string[] }>(
      "moderation",
      "add",
      ...botArgs(),
      ...args,
    );
    expect(added.words).toEqual(["refund", "Money back"]);
    const check = (text: string, ...more: string[]) => json("moderation", "check", text, ...botArgs(), ...more);
    expect(await check("My MÓNEY\nback!")).toMatchObject([{ pattern: { words: added.words } }]);
    expect(await check("refundable")).toEqual([]);
    expect(await check("refundable", "--words", "refundable")).toHaveLength(1);
    expect((await run("moderation", "list", ...botArgs())).stdout).toContain("refund, Money back");
    const id = String(added.id);
    expect(await json("moderation", "update", id, ...botArgs(), "--words", "voucher")).toMatchObject({
      words: ["voucher"],
      applies_to: "both",
    });
    expect(await json("moderation", "update", id, ...botArgs(), "--pattern", "vouch.r")).toMatchObject({
      pattern: "vouch.r",
      words: [],
    });
    await json("moderation", "remove", id, ...botArgs());
  });

  it.each([
    [[], "give --words or --pattern"],
    [["--words", "a", "--pattern", "b"], "cannot be used with"],
  ])("moderation add refuses %j", async (args, problem) => {
    const { code, stderr } = await run("moderation", "add", ...botArgs(), ...args);
    expect(stderr).toContain(problem);
    expect(code).toBe(2);
  });

  it("moderation check refuses --on without --words and --pattern", async () => {
    const { code, stderr } = await run("moderation", "check", "a text", ...botArgs(), "--on", "reply");
    expect(stderr).toContain("--on needs --words or --pattern");
    expect(code).toBe(2);
  });

  it("reports a refused pattern in one line", async () => {
    const { code, stderr } = await run("moderation", "add", ...botArgs(), "--pattern", "(?=look)");
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toEqual([expect.stringMatching(/^parley: ./)]);
  });
});

describe("parley canned-reply", () => {
  it("adds, changes, lists and removes a canned reply", async () => {
    const texts = ["--name", "Hours", "--text", "We open at **seven**."];
    const added = await json<{ id: number }>("canned-reply", "add", ...workspaceArgs(), ...texts);
    expect(added).toEqual({ id: expect.any(Number), name: "Hours", text: "We open at **seven**." });
    const { stdout } = await run("canned-reply", "list", ...workspaceArgs());
    expect(stdout).toMatch(/^ID +NAME +TEXT\n\d+ +Hours +We open at \*\*seven\*\*\.\n$/);
    const changes = ["--name", "Opening", "--text", "At eight."];
    const changed = { id: added.id, name: "Opening", text: "At eight." };
    expect(await json("canned-reply", "update", String(added.id), ...workspaceArgs(), ...changes)).toEqual(changed);
    expect(await json("canned-reply", "list", ...workspaceArgs())).toEqual([changed]);
    const removed = await run("canned-reply", "remove", String(added.id), ...workspaceArgs());
    expect([removed.code, removed.stdout]).toEqual([0, `Removed canned reply ${added.id}.\n`]);
    const gone = await run("canned-reply", "update", String(added.id), ...workspaceArgs(), ...changes);
    expect([gone.code, gone.stderr]).toEqual([
      1,
      "parley: the workspace has no such canned reply: list canned replies with parley canned-reply list --workspace W\n",
    ]);
  });
});

describe("parley knowledge", () => {
  it("adds several files and reports the progress, lists them and removes one", async () => {
    await writeFile(join(dir, "returns.md"), "# Returns\n\nWithin 30 days, free of charge.\n");
    await writeFile(join(dir, "hours.txt"), "Open from nine to five.\n");
    const added = await runCliInChildProcess(
      ["knowledge", "add", "returns.md", join(dir, "hours.txt"), ...botArgs()],
      env,
      dir,
    );
    expect(added.code).toBe(0);
    expect(added.stderr).toBe("[1/2] returns.md …\n[2/2] hours.txt …\n");
    expect(added.stdout).toMatch(
      /^NAME +FORMAT +LANGUAGE +CHARACTERS +CHUNKS +UPDATED\nreturns\.md +md +english +\d+ +\d+ /,
    );
    const names = (await json<{ name: string }[]>("knowledge", "list", ...botArgs())).map(({ name }) => name);
    expect((await run("knowledge", "list", ...botArgs())).stdout).toMatch(
      /\nThe workspace has \d+ of 2000 documents and \d+ of 50000000 characters\.\n$/,
    );
    expect(names).toEqual(["hours.txt", "returns.md"]);
    expect(await json("knowledge", "remove", "hours.txt", ...botArgs())).toEqual({ name: "hours.txt", removed: true });
  });

  it("shows the passages found for a question and their scores, and how a change of knowledge affects the evaluation", async () => {
    const { workspaceId, botSlug } = tenant;
    const tried = await json("knowledge", "try", "Are returns free of charge?", ...botArgs());
    expect(tried).toMatchObject({
      passages: [{ document: "returns.md", heading: "Returns", word_rank: expect.any(Number), used: true }],
      grounded: true,
      semantic_search: "",
    });
    const { stdout } = await run("knowledge", "try", "Are returns free of charge?", ...botArgs());
    expect(stdout).toMatch(
      /^PLACE +SCORE +WORDS +MEANING +USED +PASSAGE\n +1 +0\.0164 +\d+\.\d+ +yes +returns\.md › Returns\n/,
    );
    expect((await run("knowledge", "try", "Where is Oslo?", ...botArgs())).stdout).toMatch(/^No passage was found/);

    expect((await run("knowledge", "evaluate", ...botArgs())).stderr).toMatch(/^parley: the bot has no cases: /);
    const add = (question: string) =>
      system.admin.evaluations.addCase({ workspaceId, botSlug, question, document: "returns.md" });
    await add("Are returns free of charge?");
    await add("What about exchanges?");
    expect(await json("knowledge", "evaluate", ...botArgs())).toMatchObject({ cases: 2, searched: 2, found: 1 });
    await writeFile(join(dir, "returns.md"), "# Returns\n\nWithin 30 days, free of charge. Exchanges, too.\n");
    await runCliInProcess(["knowledge", "add", "returns.md", ...botArgs()], env, dir);
    const evaluated = await run("knowledge", "evaluate", ...botArgs());
    expect(evaluated.stdout).toBe(
      [
        "PLACE  BEFORE  DOCUMENT    QUESTION",
        "1      1       returns.md  Are returns free of charge?",
        "1      none    returns.md  What about exchanges?",
        "The expected document or an answer was found for 2 of 2 questions, previously for 1 of 2 questions.\n",
      ].join("\n"),
    );
  });

  it("lists visitors' questions for which no passage was found", async () => {
    for (const message of ["Do you ship to Norway?", "shipping to norway"])
      await chat(system.url(), tenant, { message });
    const listed = await json("knowledge", "unanswered", ...botArgs());
    expect(listed).toMatchObject({
      questions: [{ example: "shipping to norway", count: 2, ungrounded: 2, rated_down: 0 }],
      partial: false,
    });
    const { stdout } = await run("knowledge", "unanswered", "--days", "1", ...botArgs());
    expect(stdout).toMatch(
      /^COUNT +NO PASSAGE +DECLINED +RATED DOWN +LAST +SESSION +ANSWERED BY +QUESTION\n +2 +2 +\d +0 .* shipping to norway\n$/,
    );
  });

  it("adds the other documents if a file is missing, too large, not UTF-8 or of an unsupported format", async () => {
    await writeFile(join(dir, "latin.txt"), Uint8Array.of(0xe9));
    await writeFile(join(dir, "large.txt"), "x".repeat(4 * 1024 * 1024 + 1));
    await writeFile(join(dir, "sheet.ods"), "x");
    await writeFile(join(dir, "more.md"), "More.\n");
    const files = ["latin.txt", "missing.md", "large.txt", "sheet.ods", "more.md"];
    const args = ["knowledge", "add", ...files, ...botArgs()];
    const { code, stdout, stderr } = await runCliInProcess(args, env, dir);
    expect(code).toBe(1);
    expect(stderr.split("\n").filter((line) => line.startsWith("parley: "))).toEqual([
      "parley: latin.txt: content must be text in UTF-8 or UTF-16: save it as UTF-8",
      `parley: ${join(dir, "missing.md")} does not exist: check the path`,
      "parley: large.txt is larger than 4 MiB: split it into smaller files",
      "parley: sheet.ods has an unsupported format: convert it to .txt, .md, .html, .csv, .tsv, .docx, .xlsx or .pdf",
    ]);
    expect(stdout).toMatch(/^NAME .*\nmore\.md .*\nAdded 1 of 5 documents\. Failed: 4\.\n$/);
  });

  it("adds the remaining documents when the service refuses one, names each refused document, and exits 1", async () => {
    await writeFile(join(dir, "first.md"), "First.\n");
    await writeFile(join(dir, "empty.md"), "\n");
    await writeFile(join(dir, "script.html"), "<script>x</script>");
    await writeFile(join(dir, "last.md"), "Last.\n");
    const args = ["knowledge", "add", "first.md", "empty.md", "script.html", "last.md", ...botArgs()];
    const { code, stdout, stderr } = await runCliInProcess(args, env, dir);
    expect(code).toBe(1);
    expect(stderr).toBe(
      [
        "[1/4] first.md …",
        "[2/4] empty.md …",
        "parley: empty.md: content holds no text",
        "[3/4] script.html …",
        "parley: script.html: content holds no text",
        "[4/4] last.md …",
        "",
      ].join("\n"),
    );
    expect(stdout).toMatch(/^NAME .*\nfirst\.md .*\nlast\.md .*\nAdded 2 of 4 documents\. Failed: 2\.\n$/);

    const scripted = await runCliInProcess([...args, "--json"], env, dir);
    expect(scripted.code).toBe(1);
    expect(scripted.stderr).toBe(
      "parley: empty.md: content holds no text\nparley: script.html: content holds no text\n",
    );
    expect(JSON.parse(scripted.stdout)).toEqual([
      expect.objectContaining({ name: "first.md", format: "md", chunks: 1 }),
      { name: "empty.md", error: "content holds no text" },
      { name: "script.html", error: "content holds no text" },
      expect.objectContaining({ name: "last.md", format: "md", chunks: 1 }),
    ]);
  });

  it("when an error affects all documents, stops at the first document and names it", async () => {
    const args = ["knowledge", "add", "first.md", "last.md", ...workspaceArgs()];
    const unknownBot = await runCliInProcess([...args, "--bot", "nobody", "--json"], env, dir);
    expect(unknownBot.code).toBe(1);
    expect(unknownBot.stderr).toMatch(/^parley: first\.md: [^\n]*parley bot list[^\n]*\n$/);
    expect(JSON.parse(unknownBot.stdout)).toEqual([{ name: "first.md", error: expect.any(String) }]);

    const refused = await runCliInProcess([...args, ...botArgs()], { ...env, ADMIN_TOKEN: "wrong" }, dir);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^\[1\/2\] first\.md …\nparley: first\.md: [^\n]*ADMIN_TOKEN[^\n]*\n$/);
    expect(refused.stdout).toBe("Added 0 of 2 documents. Failed: 1. Not tried: 1.\n");
  });
});

describe("parley usage, usage-audit and conversation", () => {
  it("shows a turn's usage and transcript, and only its usage after the session is deleted and erased", async () => {
    const other = await createTenant(system.admin, { plan: "free" });
    const workspace = ["--workspace", other.workspaceId];
    const id = crypto.randomUUID();
    const { text } = await chat(system.url(), other, {
      session_id: id,
      message: "Hello\u001b[31m\u009b2J\u202e?\nassistant  2026",
    });
    await vi.waitFor(async () => {
      expect(await json("usage", ...workspace)).toEqual({
        plan: "free",
        cap: 100,
        used: 1,
        held: 0,
        adjusted: 0,
        ...{ credit_used: 0, credit_left: 0, overage_used: 0, overage_cap: 0 },
        unpaid: 0,
        unpaid_limit: 50,
        resets_at: expect.stringMatching(/-01T00:00:00/),
        ...{ thresholds: [50, 80, 95, 100], events: [] },
      });
    }, 10_000);
    // The quota service counts a turn before the conversation service stores that the turn is settled.
    await vi.waitFor(async () => {
      expect(await json("usage-audit", ...workspace)).toEqual({
        balanced: true,
        workspaces: [
          {
            id: other.workspaceId,
            done_messages: 1,
            used: 1,
            ledger: 1,
            held: 0,
            adjusted: 0,
            waiting: 0,
            differences: [],
          },
        ],
      });
    }, 10_000);
    expect((await run("usage-audit", ...workspace, "--check")).code).toBe(0);

    const { messages: before } = await json<{ messages: { id: string }[] }>("conversation", "show", id, ...workspace);
    const messageId = BigInt(before[1]?.id ?? "");
    await system.admin.sessions.reviewMessage({
      workspaceId: other.workspaceId,
      sessionId: id,
      messageId,
      review: "bad",
    });
    expect(await json("conversation", "list", ...workspace)).toEqual([
      expect.objectContaining({
        id,
        bot_slug: other.botSlug,
        source: "widget",
        message_count: 2,
        rating: "",
        review: "bad",
      }),
    ]);
    const { stdout } = await run("conversation", "export", id, ...workspace);
    const transcript = JSON.parse(stdout) as { session: object; messages: { role: string; content: string }[] };
    expect(transcript.messages.map(({ content }) => content)).toEqual([
      "Hello\u001b[31m\u009b2J\u202e?\nassistant  2026",
      text,
    ]);
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(await json("conversation", "show", id, ...workspace)).toEqual({
      session: {
        ...transcript.session,
        visitor_verified: false,
        consent_version: "",
        consented_at: "",
        contact_messages: [],
      },
      messages: transcript.messages.map((message, index) => ({
        ...message,
        review: index === 1 ? "bad" : "",
        finish_detail: "",
        rating_reason: "",
        rag_chunks_cited: [],
        sources: [],
      })),
    });
    const shown = await run("conversation", "show", id, ...workspace);
    expect(shown.stdout).toMatch(/^assistant {2}.* {2}reviewed bad$/m);
    expect(shown.stdout).toContain("\n  Hello\\u{1b}[31m\\u{9b}2J\\u{202e}?\n  assistant  2026\n");
    expect(shown.stdout).not.toContain("\u001b");

    expect(await json("conversation", "delete", id, ...workspace)).toEqual({ id, deleted: true });
    expect((await run("conversation", "show", id, ...workspace)).code).toBe(1);
    expect(await json("conversation", "erase", id, ...workspace)).toEqual({ id, erased: true });
    expect(await json("usage", ...workspace)).toMatchObject({ used: 1 });

    const [first, second] = [`first-${id}`, `second-${id}`];
    const session_id = randomUUID();
    for (const visitor_id of [first, second]) await chat(system.url(), other, { session_id, visitor_id });
    expect(await json("conversation", "erase-visitor", first, ...workspace)).toEqual({ sessions: 1 });
    await vi.waitFor(
      async () => expect((await run("conversation", "show", session_id, ...workspace)).code).toBe(1),
      10_000,
    );
    expect(await json("conversation", "erase-visitor", second, ...workspace)).toEqual({ sessions: 0 });
    expect((await run("conversation", "erase-visitor", first, "--workspace", "unknown")).code).toBe(1);
  });

  it("when usage does not reconcile, usage-audit exits 1 with --check and 0 without it", async () => {
    const other = await createTenant(system.admin);
    const workspace = ["--workspace", other.workspaceId];
    await chat(system.url(), other);
    await vi.waitFor(async () => expect(await json("usage", ...workspace)).toMatchObject({ used: 1 }), 10_000);
    await miscountUsage(other.workspaceId);
    expect(await json("usage-audit", ...workspace)).toMatchObject({ balanced: false });
    const { code, stdout } = await runCliInChildProcess(["usage-audit", ...workspace, "--check"], env);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`${other.workspaceId} +usage_is_not_ledger`));
    expect(stdout).toContain("Turns and usage differ");
  });
});

describe("parley usage adjust", () => {
  const month = new Date().toISOString().slice(0, 7);
  const adjustArgs = (workspaceId: string, by: string, ...more: string[]) => [
    ...["usage", "adjust", "--workspace", workspaceId, "--month", month, "--by", by],
    ...["--reason", "outage on the 3rd", "--operator", "ada", ...more],
  ];

  it("corrects a month's usage, records the operator and the reason, and usage still reconciles", async () => {
    const { workspaceId } = await createTenant(system.admin, { plan: "free" });
    const adjusted = await json(...adjustArgs(workspaceId, "5"));
    const entry = { month, amount: 5, reason: "outage on the 3rd", operator: "ada", id: expect.any(String) };
    expect(adjusted).toEqual({ ...entry, adjusted_at: expect.any(String), used: 5 });
    await json(...adjustArgs(workspaceId, "-3"));
    expect(await json("usage", "--workspace", workspaceId)).toMatchObject({ used: 2, adjusted: 2 });
    expect(await json("usage", "adjustments", "--workspace", workspaceId)).toMatchObject([{ amount: -3 }, entry]);
    const { stdout } = await run("usage", "--all", "--csv");
    expect(stdout).toMatch(new RegExp(`,${workspaceId},Test workspace,free,100,2,0,.*,2,0,0,0\r\n`));
    expect(await json("usage-audit", "--workspace", workspaceId)).toMatchObject({
      balanced: true,
      workspaces: [{ done_messages: 0, used: 2, ledger: 2, adjusted: 2 }],
    });
    const [change] = await json<object[]>("audit-log", "--workspace", workspaceId, "--limit", "1");
    expect(change).toMatchObject({
      method: "WorkspaceAdminService/AdjustUsage",
      target: { month, amount: "-3", operator: "ada", id: expect.any(String) },
    });

    const refused = await run(...adjustArgs(workspaceId, "-3"));
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("would fall below 0") });
    expect(await run(...adjustArgs(workspaceId, "1", "--month", "2999-01"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("future"),
    });
    expect((await run(...adjustArgs(workspaceId, "0"))).code).toBe(2);
    expect((await run(...adjustArgs("unknown", "1"))).stderr).toContain("no such workspace");
    expect(await json("usage", "--workspace", workspaceId)).toMatchObject({ used: 2, adjusted: 2 });
  });

  it("corrects the usage once if the response is lost and the command is repeated with the request id that it printed", async () => {
    const { workspaceId } = await createTenant(system.admin);
    const proxy = await startTcpProxy({ targetPort: system.quota.opsPort });
    try {
      proxy.cutAfterBytes(1);
      const throughProxy = { ...env, PARLEY_QUOTA_URL: `http://127.0.0.1:${proxy.port}` };
      const lost = await runCliInProcess(adjustArgs(workspaceId, "4"), throughProxy);
      expect(lost.code).toBe(1);
      const [, requestId = ""] = /--request-id (\S+)/.exec(lost.stderr) ?? [];
      await vi.waitFor(
        async () => expect(await json("usage", "--workspace", workspaceId)).toMatchObject({ used: 4, adjusted: 4 }),
        10_000,
      );
      for (const _ of [1, 2])
        expect(await json(...adjustArgs(workspaceId, "4", "--request-id", requestId))).toMatchObject({ used: 4 });
      expect((await run(...adjustArgs(workspaceId, "5", "--request-id", requestId))).stderr).toContain(
        "another adjustment",
      );
    } finally {
      await proxy.close();
    }
  });
});

describe("parley credit", () => {
  it("adds, lists and revokes a credit, and usage, the bill and the audit log show it", async () => {
    const { workspaceId } = await createTenant(system.admin, { plan: "free" });
    const workspace = ["--workspace", workspaceId];
    const args = ["credit", "add", ...workspace, "--messages", "500", "--reason", "bought", "--operator", "ada"];
    const added = await json<{ id: string }>(...args, "--expires", "2999-01-01");
    const credit = { messages: 500, used: 0, held: 0, left: 500, expires_at: "2999-01-01T00:00:00.000Z" };
    expect(added).toMatchObject({ ...credit, reason: "bought", operator: "ada", revoked_at: "" });
    expect(await json("credit", "list", ...workspace)).toEqual([added]);
    expect(await json("usage", ...workspace)).toMatchObject({ used: 0, credit_used: 0, credit_left: 500 });
    expect(await json("credit", "revoke", added.id, ...workspace)).toMatchObject({ id: added.id, left: 0 });
    expect(await json("usage", ...workspace)).toMatchObject({ credit_left: 0 });
    const changes = await json<object[]>("audit-log", ...workspace, "--limit", "2");
    expect(changes).toMatchObject([
      { method: "WorkspaceAdminService/RevokeCredit", target: { credit_id: added.id } },
      { method: "WorkspaceAdminService/AddCredit", target: { id: added.id, messages: "500", operator: "ada" } },
    ]);
    expect((await run(...args, "--expires", "2020-01-01")).code).toBe(2);
    expect((await run("credit", "list", ...workspace)).stdout).toContain(added.id);
  });

  it("sets the overage of a plan", async () => {
    expect(await json("plan", "set", "scale", "--overage", "7")).toMatchObject({ name: "scale", overage: 7 });
    expect(await json("plan", "list")).toContainEqual(expect.objectContaining({ name: "scale", overage: 7 }));
    await json("plan", "set", "scale", "--overage", "0");
    expect((await run("plan", "set", "scale")).code).toBe(1);
  });
});

describe("parley audit-log", () => {
  it("lists with --all the changes of all workspaces and services with names, and migrations with their release", async () => {
    const { id } = await json<{ id: string }>("workspace", "create", "--name", "Changing", "--plan", "free");
    await json("bot", "create", "--workspace", id, "--slug", "b");
    await json("workspace", "set-plan", id, "pro");
    const changes = await json<Record<string, unknown>[]>("audit-log", "--all", "--since", "1h", "--limit", "10000");
    const ofWorkspace = changes.filter((each) => each.workspace_id === id);
    expect(ofWorkspace.map(({ service, workspace_name, method }) => [service, workspace_name, method])).toEqual([
      ["quota", "Changing", "WorkspaceAdminService/SetPlan"],
      ["conversation", "Changing", "BotAdminService/CreateBot"],
      ["quota", "Changing", "WorkspaceAdminService/CreateWorkspace"],
    ]);
    const migrations = changes.filter(({ method }) => method === "Schema/Migrate");
    expect(new Set(migrations.map(({ service }) => service))).toEqual(new Set(["conversation", "quota", "llm-proxy"]));
    const times = changes.map(({ changed_at }) => Date.parse(String(changed_at)));
    expect(times).toEqual(times.toSorted((a, b) => b - a));

    const { stdout } = await run("audit-log", "--all", "--limit", "10000");
    expect(stdout).toMatch(/^WHEN +SERVICE +WORKSPACE +NAME +WHAT +TARGET +FIELDS +BY\n/);
    expect(stdout).toMatch(
      new RegExp(` quota +${id} +Changing +WorkspaceAdminService/SetPlan +.*plan=pro.* operator\n`),
    );
    expect(stdout).toMatch(/ llm-proxy +– +– +Schema\/Migrate +.* release \d+\.\d+\.\d+/);
    expect((await run("audit-log", "--all", "--limit", "1")).stdout).toContain("Only the newest 1 changes are listed.");
  });

  it("requires --workspace or --all", async () => {
    const { code, stderr } = await run("audit-log");
    expect([code, stderr]).toEqual([2, "parley: give --workspace W, or --all; run parley audit-log --help\n"]);
    expect((await run("audit-log", "--all", "--since", "soon")).stderr).toContain("Write it like 90m, 24h, 7d");
  });
});

describe("parley usage --all", () => {
  type Billing = { month: string; workspaces: Record<string, unknown>[]; totals: Record<string, unknown> };

  it("lists every workspace's replies and tokens, including the tokens of failed turns, as a table, CSV and JSON", async () => {
    const name = '=Müller, "Söhne"';
    const { id } = await json<{ id: string }>("workspace", "create", "--name", name, "--plan", "free");
    await json("bot", "create", "--workspace", id, "--slug", "b", "--model", "openai:default");
    await json("bot", "create", "--workspace", id, "--slug", "cut", "--model", "openai:cut-after-3");
    for (const botSlug of ["b", "cut"]) {
      const key = ["key", "create", "--workspace", id, "--bot", botSlug, "--domain", "shop.example"];
      const { public_key: publicKey } = await json<{ public_key: string }>(...key);
      await chat(system.url(), { workspaceId: id, botSlug, publicKey, origin: "https://shop.example" });
    }
    const billOf = ({ workspaces }: Billing) => workspaces.find((each) => each.id === id);
    await vi.waitFor(async () => {
      expect(billOf(await json<Billing>("usage", "--all"))).toMatchObject({ used: 1, held: 0, calls: 2 });
    }, 15_000);
    const billing = await json<Billing>("usage", "--all");
    expect(billOf(billing)).toEqual({
      id,
      name,
      plan: "free",
      cap: 100,
      used: 1,
      held: 0,
      adjusted: 0,
      ...{ credit_used: 0, overage_used: 0 },
      calls: 2,
      tokens_in: expect.any(Number),
      tokens_out: expect.any(Number),
      tokens_cached: 0,
      cost: "0",
      unpriced_calls: 2,
      estimated_calls: 1,
    });
    // More than the complete reply's tokens, because the failed turn's tokens are included.
    expect(Number(billOf(billing)?.tokens_in)).toBeGreaterThan(fixedUsage.prompt_tokens);
    const ids = billing.workspaces.map((each) => String(each.id));
    expect(ids).toHaveLength(new Set(ids).size);
    expect(ids).toHaveLength((await json<unknown[]>("workspace", "list")).length);

    const { stdout: csv } = await run("usage", "--all", "--csv", "--month", billing.month);
    expect(csv.split("\r\n")[0]).toBe(
      "month,id,name,plan,cap,used,held,calls,tokens_in,tokens_out,cost,unpriced_calls,estimated_calls,adjusted,tokens_cached,credit_used,overage_used",
    );
    expect(csv).toContain(`\r\n${billing.month},${id},"'=Müller, ""Söhne""",free,100,1,0,2,`);
    const { stdout: table } = await run("usage", "--all");
    expect(table).toMatch(new RegExp(`^${id} +=Müller, "Söhne" +free +1 +0 +100 +2 `, "m"));
    expect(table).toContain(`The month is ${billing.month}, UTC`);
    expect((await json<Billing>("usage", "--all", "--month", "2020-01")).totals).toMatchObject({ used: 0, calls: 0 });
  });

  it("sorts workspaces by cost, use or growth, lists those nearest to their cap, and has a price for the built-in model", async () => {
    const { id } = await json<{ id: string }>("workspace", "create", "--name", "Sorted", "--plan", "free");
    await json("bot", "create", "--workspace", id, "--slug", "b", "--model", "builtin:extractive");
    const key = ["key", "create", "--workspace", id, "--bot", "b", "--domain", "shop.example"];
    const { public_key: publicKey } = await json<{ public_key: string }>(...key);
    await chat(system.url(), { workspaceId: id, botSlug: "b", publicKey, origin: "https://shop.example" });
    await queryFirstRow(
      system.database,
      `INSERT INTO llm.calls
       SELECT $1, gen_random_uuid(), $2, 'p', 'p:m', '', 1, 1, false, 0, 0, 0, 1, 0, 'complete', '', 12.5, now()`,
      [id, randomUUID()],
    );
    await queryFirstRow(
      system.database,
      `INSERT INTO conversation.reply_counts VALUES ($1, date_bin('1 hour', now() - interval '3 days', '2000-01-01Z'), 700, 0, 700, '{}')`,
      [id],
    );
    await vi.waitFor(
      async () =>
        expect((await json<Billing>("usage", "--all", "--sort", "cost", "--limit", "1")).workspaces).toMatchObject([
          { id, name: "Sorted", used: 1, calls: 2, cost: "12.5", unpriced_calls: 0 },
        ]),
      15_000,
    );
    const sorted = async (sort: string) => (await json<Billing>("usage", "--all", "--sort", sort)).workspaces;
    const used = (await sorted("used")).map((each) => Number(each.used));
    expect(used).toEqual(used.toSorted((a, b) => b - a));
    expect((await sorted("growth"))[0]).toMatchObject({ id, last_week: expect.any(Number), week_before: 0 });
    const { stdout } = await run("usage", "--all", "--sort", "growth", "--limit", "1");
    expect(stdout).toMatch(new RegExp(`^${id} +Sorted +free .* 12\\.50 +70\\d +0 +70\\d$`, "m"));
    const nearest = await json<Record<string, unknown>[]>("usage", "--near-cap", "--limit", "100");
    expect(nearest).toContainEqual({ id, name: "Sorted", plan: "free", used: 1, held: 0, cap: 100 });
    expect((await run("usage", "--near-cap")).stdout).toMatch(
      /^WORKSPACE +NAME +PLAN +USED +HELD +CAP +SHARE\n.* \d+ %\n/,
    );
  });

  it("requires exactly one of --workspace and --all", async () => {
    expect(await runCliInChildProcess(["usage"], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--workspace W, --all or --near-cap"),
    });
    expect((await run("usage", "--all", "--workspace", "w")).code).toBe(2);
  });
});

describe("parley provider", () => {
  it("lists providers without printing their API keys, and checks one", async () => {
    const listed = await run("provider", "list", "--json");
    expect(listed.stdout).not.toContain("sk-key-of-the-tests");
    expect(JSON.parse(listed.stdout)).toMatchObject({
      providers: expect.arrayContaining([expect.objectContaining({ name: "openai", base_url: system.provider.url })]),
      default_model: expect.stringMatching(/^openai:/),
    });
    expect(await json("provider", "check", "openai")).toEqual([
      expect.objectContaining({ provider: "openai", result: "ok", tokens_out: expect.any(Number) }),
    ]);
  });

  it("lists at most --limit calls: the newest of a month, the oldest of a turn", async () => {
    const turnId = randomUUID();
    await queryFirstRow(
      databaseOf(system, "limited"),
      `INSERT INTO llm.calls
       SELECT 'limited', gen_random_uuid(), $1, 'p', 'p:' || name, '', 1, 1, false, 0, 0, 0, 1, 0, 'complete', '', NULL, created_at
       FROM (VALUES ('old', '2031-02-03'::timestamptz), ('new', '2031-02-04')) AS call (name, created_at)`,
      [turnId],
    );
    const list = (...args: string[]) => json("provider", "calls", "--workspace", "limited", "--limit", "1", ...args);
    expect(await list("--month", "2031-02")).toEqual([expect.objectContaining({ model: "p:new" })]);
    expect(await list("--turn", turnId)).toEqual([expect.objectContaining({ model: "p:old" })]);
  });

  it("check exits 1 when the provider fails", async () => {
    system.provider.script([{ status: 401 }]);
    const { code, stdout } = await run("provider", "check", "openai", "--json");
    expect([code, JSON.parse(stdout)]).toEqual([1, [expect.objectContaining({ result: "provider_auth" })]]);
  });
});

describe("parley top", () => defineTopTests(() => ({ system, env })));

describe("parley migrate", () => {
  it("finds nothing to do in a migrated database, for one service and for all services", async () => {
    const { url, shardUrls = [url] } = system.database;
    const database = { ...env, DATABASE_URL: url, DATABASE_SHARDS: String(shardUrls.length) };
    const { code, stdout } = await runCliInProcess(["migrate", "quota"], database);
    expect([code, stdout]).toEqual([0, "quota: up to date\n"]);
    expect(await runCliJson(["migrate"], database)).toEqual(
      ["conversation", "quota", "llm-proxy"].map((service) => ({ service, applied: [] })),
    );
  });

  it("reports why the database cannot be used", async () => {
    const url = new URL(system.database.url);
    url.password = "hush";
    const { code, stderr } = await runCliInProcess(["migrate", "quota"], { ...env, DATABASE_URL: url.href });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^migrating quota …\nparley: quota: cannot migrate: password authentication failed .*\n$/);
    expect(stderr).not.toContain("hush");
  });
});

describe("parley", () => {
  it("reports an unreachable service with its address", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await runCliInChildProcess(["workspace", "list"], { ...env, PARLEY_QUOTA_URL: url });
    expect([code, stderr]).toEqual([
      1,
      `parley: quota does not answer at ${url}: check that PARLEY_QUOTA_URL is the URL of its ops port and that the network allows the connection\n`,
    ]);
  });

  it("reports a refused admin token", async () => {
    const { code, stderr } = await runCliInProcess(["workspace", "list"], { ...env, ADMIN_TOKEN: "wrong" });
    expect(code).toBe(1);
    expect(stderr).toMatch(/refused the admin token: set ADMIN_TOKEN/);
  });

  it("reports that a URL is not the URL of an ops port", async () => {
    const { code, stderr } = await runCliInProcess(["workspace", "list"], { ...env, PARLEY_QUOTA_URL: system.url() });
    expect(code).toBe(1);
    expect(stderr).toMatch(/does not implement this call: use the URL of the ops port of quota/);
  });

  it("requires only the URL that a command uses", async () => {
    const quotaOnly = { ...env, PARLEY_CONVERSATION_URL: "", PARLEY_LLM_URL: "" };
    expect((await runCliInProcess(["workspace", "list"], quotaOnly)).code).toBe(0);
    expect((await runCliInProcess(["provider", "list"], quotaOnly)).stderr).toBe(
      "parley: PARLEY_LLM_URL is not set: set it to the URL of the service's ops port\n",
    );
  });
});

/** Counts one more reply than the workspace has, so that usage no longer reconciles. */
async function miscountUsage(workspaceId: string): Promise<void> {
  await queryFirstRow(system.database, "UPDATE quota.usage SET used = used + 1 WHERE workspace_id = $1", [workspaceId]);
}
