import { ConfigError } from "@parley/service-kit/environment";
import { runCli } from "./cli.ts";
import { readConfig } from "./config.ts";

process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
  // The reader may close the pipe early, as in parley … | head.
  if (code === "EPIPE") process.exit(0);
  process.stderr.write(`parley: cannot write the output (${code ?? message}): it is incomplete\n`);
  process.exit(1);
});

try {
  // biome-ignore lint/style/noProcessEnv: passes the environment to config.ts
  const config = readConfig(process.env, process.cwd());
  process.exitCode = await runCli(process.argv.slice(2), config, process);
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`parley: ${error.message}\n`);
  process.exitCode = 1;
}
