import { Code, type ConnectError } from "@connectrpc/connect";
import { ModerationAdminService } from "@parley/rpc/conversation";
import { describe, expect, test } from "vitest";
import { adminFailure, countResultsOfConcurrentInserts, useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";

const system = useTestSystem();

/** Returns a pattern whose compiled size is about 150. A bot's limit of 2,000 allows 13 of them. */
const largePattern = (number: number) => `(buy|sell|send).{0,60}(bitcoin|crypto)${number}`;

describe("moderation patterns", () => {
  test("are validated when they are added, listed in the order of their addition, and removed only through their own bot", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const [bot, other] = [await createBot(system.database), await createBot(system.database)];
    const { pattern } = await moderation.addPattern({ ...botFields(bot), pattern: "one" });
    await moderation.addPattern({ ...botFields(bot), pattern: "two", reason: "r", fallback: "f" });
    expect(pattern).toMatchObject({ pattern: "one", reason: "blocked_pattern", fallback: "" });
    const list = async () => (await moderation.listPatterns(botFields(bot))).patterns.map((each) => each.pattern);
    expect(await list()).toEqual(["one", "two"]);
    for (const bad of ["", "(?=a)", "(a)\\1", "x".repeat(1_001), "a\0", "[", ".{0,1000}"])
      expect(await adminFailure(moderation.addPattern({ ...botFields(bot), pattern: bad })), bad).toMatchObject({
        code: Code.InvalidArgument,
      });
    const id = pattern?.id ?? 0n;
    expect(await adminFailure(moderation.removePattern({ ...botFields(other), id }))).toMatchObject({
      parleyCode: "pattern_not_found",
    });
    await moderation.removePattern({ ...botFields(bot), id });
    expect(await list()).toEqual(["two"]);
  });

  test("made from words match each word as a whole, whatever its case and accents, and are returned with the words", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const bot = botFields(await createBot(system.database));
    const { pattern } = await moderation.addPattern({
      ...bot,
      words: [" Café ", "money back", "", "Café"],
      appliesTo: "both",
    });
    expect(pattern?.words).toEqual(["Café", "money back"]);
    const matchCount = async (text: string, unsaved = {}) =>
      (await moderation.checkText({ ...bot, text, ...unsaved })).matches.length;
    expect(await matchCount("the CAFE is closed")).toBe(1);
    expect(await matchCount("cafeteria")).toBe(0);
    expect(await matchCount("cafeteria", { unsaved: { words: ["Cafeteria"] } })).toBe(1);
    const id = pattern?.id ?? 0n;
    await moderation.updatePattern({ ...bot, id, changes: { words: { values: ["voucher"] } } });
    expect((await moderation.listPatterns(bot)).patterns).toMatchObject([{ words: ["voucher"], appliesTo: "both" }]);
    // Longer than a pattern may be that is not made from words.
    const many = Array.from({ length: 20 }, (_, number) => `wording${number}`);
    await moderation.updatePattern({ ...bot, id, changes: { words: { values: many } } });
    await moderation.updatePattern({ ...bot, id, changes: { fallback: "No." } });
    expect((await moderation.listPatterns(bot)).patterns).toMatchObject([{ words: many, fallback: "No." }]);
    await moderation.updatePattern({ ...bot, id, changes: { pattern: "vouch.r" } });
    expect((await moderation.listPatterns(bot)).patterns).toMatchObject([{ words: [], pattern: "vouch.r" }]);
    const refused = [
      { words: ["a"], pattern: "b" },
      { words: [" "] },
      { words: ["x".repeat(1_001)] },
      { words: ["a\0"] },
    ];
    for (const each of refused)
      expect(await adminFailure(moderation.addPattern({ ...bot, ...each })), JSON.stringify(each)).toMatchObject({
        code: Code.InvalidArgument,
      });
    const tooMany = Array.from({ length: 60 }, (_, number) => `wording${number}`);
    expect(await adminFailure(moderation.addPattern({ ...bot, words: tooMany }))).toMatchObject({
      parleyCode: "pattern_too_large",
    });
  });

  test("are not added beyond the limit of 100 by concurrent calls", async () => {
    const bot = await createBot(system.database);
    await system.admin.query(
      `INSERT INTO conversation.moderation_patterns (workspace_id, bot_id, pattern, reason, fallback, applies_to)
       SELECT $1, $2, 'p' || n, 'r', '', 'message' FROM generate_series(1, 99) n`,
      [bot.workspaceId, bot.id],
    );
    const add = (n: number) =>
      system.createAdminClient(ModerationAdminService).addPattern({ ...botFields(bot), pattern: `c${n}` });
    expect(await countResultsOfConcurrentInserts(system.admin, "conversation.moderation_patterns", add)).toEqual({
      ok: 1,
      too_many_patterns: 19,
    });
  });

  test("are not added beyond the size limit of 2,000 by concurrent calls", async () => {
    const bot = await createBot(system.database);
    const moderation = system.createAdminClient(ModerationAdminService);
    for (let n = 1; n <= 12; n++) await moderation.addPattern({ ...botFields(bot), pattern: largePattern(n) });
    const add = (n: number) => moderation.addPattern({ ...botFields(bot), pattern: largePattern(100 + n) });
    expect(await countResultsOfConcurrentInserts(system.admin, "conversation.moderation_patterns", add)).toEqual({
      ok: 1,
      patterns_too_large: 19,
    });
  });

  test("keep every change when concurrent calls change different fields of one pattern", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const bot = await createBot(system.database);
    const { pattern } = await moderation.addPattern({ ...botFields(bot), pattern: "one" });
    const id = pattern?.id ?? 0n;
    const fields = ["pattern", "fallback", "reason"] as const;
    for (let round = 0; round < 10; round++) {
      const value = `${round}`;
      await Promise.all(
        fields.map((field) => moderation.updatePattern({ ...botFields(bot), id, changes: { [field]: value } })),
      );
      const { patterns } = await moderation.listPatterns(botFields(bot));
      expect(patterns).toMatchObject([{ pattern: value, fallback: value, reason: value }]);
    }
  });

  test("are not changed beyond the size limit by concurrent calls", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const bot = await createBot(system.database);
    for (let n = 1; n <= 12; n++) await moderation.addPattern({ ...botFields(bot), pattern: largePattern(n) });
    const small = ["rude", "bad"].map((text) => moderation.addPattern({ ...botFields(bot), pattern: text }));
    const ids = (await Promise.all(small)).map(({ pattern }) => pattern?.id ?? 0n);
    const grow = (id: bigint) =>
      moderation.updatePattern({ ...botFields(bot), id, changes: { pattern: largePattern(Number(id) + 100) } });
    const results = await Promise.all(
      ids.map((id) =>
        grow(id).then(
          () => "ok",
          (error: ConnectError) => error.metadata.get("parley-code"),
        ),
      ),
    );
    expect(results.toSorted()).toEqual(["ok", "patterns_too_large"]);
  });

  test("keep their place and unchanged fields when they are changed, and the new and unchanged fields are validated together", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const [bot, other] = [await createBot(system.database), await createBot(system.database)];
    const { pattern } = await moderation.addPattern({
      ...botFields(bot),
      pattern: "one.*",
      reason: "r",
      fallback: "f",
    });
    await moderation.addPattern({ ...botFields(bot), pattern: "two" });
    const id = pattern?.id ?? 0n;
    type Changes = { pattern?: string; fallback?: string; reason?: string; appliesTo?: string };
    const update = (changes: Changes, of = bot) => moderation.updatePattern({ ...botFields(of), id, changes });
    expect((await update({ pattern: "1+" })).pattern).toMatchObject({ id, pattern: "1+", reason: "r", fallback: "f" });
    expect((await update({ pattern: "one.*" })).pattern).toEqual(pattern);
    expect(await adminFailure(update({ appliesTo: "reply" }))).toMatchObject({ parleyCode: "invalid_argument" });
    expect((await update({ pattern: "uno", appliesTo: "reply", fallback: "", reason: "" })).pattern).toMatchObject({
      pattern: "uno",
      appliesTo: "reply",
      fallback: "",
      reason: "blocked_pattern",
    });
    expect((await moderation.listPatterns(botFields(bot))).patterns.map((each) => each.pattern)).toEqual([
      "uno",
      "two",
    ]);
    for (const bad of ["", "(?=a)", "x".repeat(1_001), "a\0", "["])
      expect(await adminFailure(update({ pattern: bad })), bad).toMatchObject({ parleyCode: "invalid_argument" });
    expect(await adminFailure(update({ fallback: "x".repeat(2_001) }))).toMatchObject({
      parleyCode: "invalid_argument",
    });
    expect(await adminFailure(update({ pattern: ".{0,200}", appliesTo: "message" }))).toMatchObject({
      parleyCode: "pattern_too_large",
    });
    expect(await adminFailure(update({ pattern: "p" }, other))).toMatchObject({ parleyCode: "pattern_not_found" });
    await moderation.removePattern({ ...botFields(bot), id });
    expect(await adminFailure(update({ pattern: "p" }))).toMatchObject({ parleyCode: "pattern_not_found" });
  });

  test("can be changed to a pattern of the same size, but not to a larger one, when the bot is near its size limit", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const bot = await createBot(system.database);
    const added = [];
    for (let number = 1; number <= 13; number++)
      added.push((await moderation.addPattern({ ...botFields(bot), pattern: largePattern(number) })).pattern?.id ?? 0n);
    const request = { ...botFields(bot), id: added[0] ?? 0n, changes: { pattern: largePattern(14) } };
    expect((await moderation.updatePattern(request)).pattern?.pattern).toBe(largePattern(14));
    const { pattern: small } = await moderation.addPattern({ ...botFields(bot), pattern: "rude" });
    const grown = moderation.updatePattern({ ...request, id: small?.id ?? 0n, changes: { pattern: largePattern(15) } });
    expect(await adminFailure(grown)).toMatchObject({ parleyCode: "patterns_too_large" });
  });

  test("for replies are refused if the length of their matches has no upper bound", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const bot = await createBot(system.database);
    const add = (pattern: string, appliesTo: string) =>
      moderation.addPattern({ ...botFields(bot), pattern, appliesTo });
    for (const appliesTo of ["reply", "both"]) {
      expect((await add("sec(ret){1,3}", appliesTo)).pattern).toMatchObject({ appliesTo });
      expect(await adminFailure(add("secret.*", appliesTo))).toMatchObject({
        code: Code.InvalidArgument,
        message: expect.stringContaining("must be limited"),
      });
    }
    expect((await add("secret.*", "")).pattern).toMatchObject({ appliesTo: "message" });
    expect(await adminFailure(add("secret", "question"))).toMatchObject({ code: Code.InvalidArgument });
  });

  test("are refused above a size of 300 for one pattern, and above 2,000 for all message and reply patterns of a bot", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const bot = await createBot(system.database);
    const add = (pattern: string, appliesTo = "message") =>
      moderation.addPattern({ ...botFields(bot), pattern, appliesTo });
    expect(await adminFailure(add(".{0,200}"))).toMatchObject({
      code: Code.InvalidArgument,
      parleyCode: "pattern_too_large",
      message: expect.stringMatching(
        /its size is 40\d, the limit is 300; use fewer words, or fewer or smaller repetition counts such as \{0,20\}$/,
      ),
    });
    for (let number = 1; number <= 13; number++)
      await add(largePattern(number), number % 2 === 0 ? "reply" : "message");
    expect(await adminFailure(add(largePattern(14)))).toMatchObject({
      code: Code.ResourceExhausted,
      parleyCode: "patterns_too_large",
      message: expect.stringMatching(/with this pattern of size 15\d their total size is 2[01]\d\d, the limit is 2000/),
    });
    await add("rude");
    expect((await moderation.listPatterns(botFields(bot))).patterns).toHaveLength(14);
  });

  test("are limited to 100 per bot", async () => {
    const moderation = system.createAdminClient(ModerationAdminService);
    const bot = await createBot(system.database);
    for (let number = 0; number < 100; number++)
      await moderation.addPattern({ ...botFields(bot), pattern: `p${number}` });
    expect(await adminFailure(moderation.addPattern({ ...botFields(bot), pattern: "one more" }))).toMatchObject({
      code: Code.ResourceExhausted,
    });
  });
});

describe("checking a text", () => {
  const moderation = () => system.createAdminClient(ModerationAdminService);
  async function createBotWithPatterns() {
    const bot = await createBot(system.database);
    const add = (pattern: string, appliesTo: string) =>
      moderation().addPattern({ ...botFields(bot), pattern, appliesTo });
    await add("refund", "message");
    await add("secret", "reply");
    await add("rude", "both");
    const check = async (text: string, unsaved?: { pattern: string; appliesTo?: string }) => {
      const { matches } = await moderation().checkText({ ...botFields(bot), text, ...(unsaved && { unsaved }) });
      return matches.map(({ pattern, blocksMessage, blocksReply }) => [pattern?.pattern, blocksMessage, blocksReply]);
    };
    return { bot, check };
  }

  test("returns every matching pattern and whether it blocks messages, replies or both, with an unsaved one last", async () => {
    const { bot, check } = await createBotWithPatterns();
    expect(await check("a kind word")).toEqual([]);
    expect(await check("RUDE secret refund")).toEqual([
      ["refund", true, false],
      ["secret", false, true],
      ["rude", true, true],
    ]);
    // Full-width letters and an invisible character are normalised, as in a visitor's message.
    expect(await check("ｒｕ\u200bde")).toEqual([["rude", true, true]]);
    expect(await check("rude words", { pattern: "wor.s", appliesTo: "reply" })).toEqual([
      ["rude", true, true],
      ["wor.s", false, true],
    ]);
    expect((await moderation().listPatterns(botFields(bot))).patterns).toHaveLength(3);
  });

  test("refuses the unsaved patterns that saving refuses, and texts that are empty, too long or contain a NUL", async () => {
    const { bot, check } = await createBotWithPatterns();
    const refusal = (text: string, unsaved?: { pattern: string; appliesTo?: string }) =>
      adminFailure(check(text, unsaved));
    for (const pattern of ["", "(?=a)", "x".repeat(1_001), "["])
      expect(await refusal("a", { pattern }), pattern).toMatchObject({ parleyCode: "invalid_argument" });
    expect(await refusal("a", { pattern: ".{0,200}" })).toMatchObject({ parleyCode: "pattern_too_large" });
    expect(await refusal("a", { pattern: "a.*", appliesTo: "reply" })).toMatchObject({
      parleyCode: "invalid_argument",
    });
    for (const text of ["", "x".repeat(4_001), "a\0"])
      expect(await refusal(text), text.slice(0, 9)).toMatchObject({ parleyCode: "invalid_argument" });
    for (let number = 1; number <= 12; number++)
      await moderation().addPattern({ ...botFields(bot), pattern: largePattern(number) });
    expect(await refusal("a", { pattern: largePattern(13) })).toMatchObject({
      parleyCode: "patterns_too_large",
    });
  });

  test("matches an unsaved pattern in place of the saved one that it replaces", async () => {
    const { bot } = await createBotWithPatterns();
    const [first] = (await moderation().listPatterns(botFields(bot))).patterns;
    const check = async (text: string, replacesId: bigint) => {
      const unsaved = { pattern: "ref.nd|return", replacesId };
      const { matches } = await moderation().checkText({ ...botFields(bot), text, unsaved });
      return matches.map(({ pattern }) => [pattern?.id, pattern?.pattern]);
    };
    const id = first?.id ?? 0n;
    expect(await check("refund, rude", id)).toEqual([
      [0n, "ref.nd|return"],
      [expect.any(BigInt), "rude"],
    ]);
    expect(await adminFailure(check("refund", id + 1_000_000n))).toMatchObject({ parleyCode: "pattern_not_found" });
  });

  test("refuses an unsaved pattern if the bot has 100 saved ones", async () => {
    const bot = await createBot(system.database);
    for (let number = 0; number < 100; number++)
      await moderation().addPattern({ ...botFields(bot), pattern: `p${number}` });
    const request = { ...botFields(bot), text: "p1", unsaved: { pattern: "p" } };
    expect(await adminFailure(moderation().checkText(request))).toMatchObject({ parleyCode: "too_many_patterns" });
    expect((await moderation().checkText({ ...botFields(bot), text: "p99" })).matches).toHaveLength(2);
  });
});
