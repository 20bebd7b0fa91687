// What `pnpm start` runs. Plain JavaScript, because it must say so itself when this Node is too old for the rest.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

// Their names say experimental; Parley's tests say that they work.
process.removeAllListeners("warning");
process.on("warning", (warning) => {
  if (warning.name !== "ExperimentalWarning") process.stderr.write(`${warning.name}: ${warning.message}\n`);
});

if (major < 22 || (major === 22 && minor < 15)) {
  process.stderr.write(
    `parley: Node.js ${process.versions.node} is too old: install Node.js 22.15 or newer, best the newest even-numbered one\n`,
  );
  process.exitCode = 1;
} else if (process.features.typescript) {
  await import("./start.ts");
} else {
  await relay();
}

/** Before 22.18 Node runs TypeScript, and has SQLite, only when told to. */
async function relay() {
  const { spawn } = await import("node:child_process");
  const { fileURLToPath } = await import("node:url");
  const flags = ["--experimental-strip-types", "--experimental-sqlite", "--disable-warning=ExperimentalWarning"];
  const script = fileURLToPath(new URL("start.ts", import.meta.url));
  // By the IPC channel it notices when we are killed.
  const child = spawn(process.execPath, [...flags, script], { stdio: ["inherit", "inherit", "inherit", "ipc"] });
  // The terminal tells both of us.
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code) => process.exit(code ?? 1));
}
