import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { create } from "@bufbuild/protobuf";
import { VerificationKeySchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { createTokenVerifier } from "./visitor-token.ts";

const run = promisify(execFile);
const guide = await readFile(new URL("../../../../docs/visitors.md", import.meta.url), "utf8");
const key = "parley_visitor_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const verify = createTokenVerifier([create(VerificationKeySchema, { kid: "k", algorithm: "HS256", key })]);

const BACKENDS = [
  ["js", process.execPath, "mjs", 'console.log(visitorToken("é-42", { plan: "gold" }));'],
  ["php", "php", "php", 'echo visitor_token("é-42", ["plan" => "gold"]);'],
  ["python", "python3", "py", 'print(visitor_token("é-42", {"plan": "gold"}))'],
  ["ruby", "ruby", "rb", 'puts visitor_token("é-42", { plan: "gold" })'],
] as const;

const canRun = (command: string) =>
  run(command, ["--version"]).then(
    () => true,
    () => false,
  );
const available = await Promise.all(BACKENDS.map(([, command]) => canRun(command)));

test.each(BACKENDS.filter((_, at) => available[at]))(
  "the backend of docs/visitors.md in %s signs tokens that are accepted",
  async (language, command, extension, call) => {
    const [, code = ""] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(guide) ?? [];
    const directory = await mkdtemp(join(tmpdir(), "parley-backend-"));
    try {
      const file = join(directory, `backend.${extension}`);
      await writeFile(file, `${code}\n${call}\n`);
      const { stdout } = await run(command, [file], { env: { ...process.env, PARLEY_VISITOR_SECRET: key } });
      expect(await verify(stdout.trim())).toEqual({ visitorId: "é-42", metadata: { plan: "gold" } });
    } finally {
      await rm(directory, { recursive: true });
    }
  },
);
