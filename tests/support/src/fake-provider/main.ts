import { startFakeProvider } from "./server.ts";

// Runs the fake provider as a process. Variables: FAKE_PROVIDER_PORT (default: a free port), FAKE_PROVIDER_HOST (default: 127.0.0.1),
// FAKE_PROVIDER_SCRIPT (a JSON list of replies).
const provider = await startFakeProvider(JSON.parse(process.env.FAKE_PROVIDER_SCRIPT || "[]"), {
  port: Number(process.env.FAKE_PROVIDER_PORT || 0),
  host: process.env.FAKE_PROVIDER_HOST || "127.0.0.1",
});
console.log(JSON.stringify({ url: provider.url, port: provider.port }));

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void provider.close());
