import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { nodeFlags } from "@parley/test-support";
import { expect, test } from "vitest";

const settings = (kind: string) => ({
  kind,
  baseUrl: "http://localhost/v1",
  apiKey: "k",
  headers: {},
  sampling: {},
  timeouts: { connectMs: 1 },
});

/** Imports the whole service in a new process, creates a provider of a kind, and returns the packages of the AI SDK that the process has loaded. */
async function listLoadedPackages(kind: string | undefined): Promise<string[]> {
  const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const create =
    kind === undefined
      ? ""
      : kind === "azure"
        ? `const { createOpenAiProvider } = await import(${url("../openai/openai.client.ts")});
         createOpenAiProvider(${JSON.stringify({ ...settings(kind), tokenScope: "https://cognitiveservices.azure.com/.default" })});
         while (!loaded.has("@azure/identity")) await new Promise((next) => setTimeout(next, 20));`
        : `const { createNativeProvider } = await import(${url("./native.client.ts")});
         createNativeProvider(${JSON.stringify(settings(kind))});
         await (await import(${url("./native-apis.client.ts")})).NATIVE_APIS[${JSON.stringify(kind)}].load();`;
  const script = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({ load(url, context, nextLoad) { loaded.add(/@ai-sdk\\/[^/]+|@azure\\/identity|google-auth-library|@aws-sdk\\/credential-provider-node/.exec(url.split("node_modules").at(-1))?.[0]); return nextLoad(url, context); } });
    await import(${url("../../server.ts")});
    ${create}
    console.log(JSON.stringify([...loaded].filter(Boolean).sort()));
    process.exit();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeFlags, "--input-type=module", "-e", script]);
  return JSON.parse(stdout) as string[];
}

test("the packages for native APIs are loaded only when a provider uses them", { timeout: 120_000 }, async () => {
  expect(await listLoadedPackages(undefined)).toEqual([]);
  expect(await listLoadedPackages("anthropic")).toContain("@ai-sdk/anthropic");
  expect(await listLoadedPackages("anthropic")).not.toContain("@ai-sdk/google");
  expect(await listLoadedPackages("azure")).toContain("@azure/identity");
  expect(await listLoadedPackages("bedrock")).toContain("@aws-sdk/credential-provider-node");
});
