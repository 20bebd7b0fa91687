// Runs on `pnpm start`. Plain JavaScript, so that a Node version too old for TypeScript can run this file and print an error.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

import { existsSync } from "node:fs";

// Hides Node's warnings about experimental features.
process.removeAllListeners("warning");
process.on("warning", (warning) => {
  if (warning.name !== "ExperimentalWarning") process.stderr.write(`${warning.name}: ${warning.message}\n`);
});

// pnpm writes this file at the end of a complete installation.
const isInstalled = existsSync(new URL("../../node_modules/.modules.yaml", import.meta.url));

if (!isInstalled) {
  process.stderr.write(
    "parley: Parley's packages are not installed: connect this machine to the network and run `npx --yes pnpm@12 install`, or copy node_modules with the folder\n",
  );
  process.exitCode = 1;
} else if (major < 22 || (major === 22 && minor < 15)) {
  process.stderr.write(
    `parley: Node.js ${process.versions.node} is too old: install Node.js 22.15 or newer, preferably the latest LTS version\n`,
  );
  process.exitCode = 1;
} else if (process.features.typescript) {
  await import("./start.ts");
} else {
  await runWithFlags();
}

/** Node 22.15 to 22.17 and 23.0 to 23.5 need `--experimental-strip-types`; 23.0 to 23.3 also need `--experimental-sqlite`. */
async function runWithFlags() {
  const { spawn } = await import("node:child_process");
  const { fileURLToPath } = await import("node:url");
  const flags = ["--experimental-strip-types", "--experimental-sqlite", "--disable-warning=ExperimentalWarning"];
  const script = fileURLToPath(new URL("start.ts", import.meta.url));
  // The IPC channel lets the child notice when this process is killed.
  const child = spawn(process.execPath, [...flags, script], { stdio: ["inherit", "inherit", "inherit", "ipc"] });
  // The terminal sends SIGINT to the child too. This process waits until the child exits.
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code) => process.exit(code ?? 1));
}
