export type Config = ReturnType<typeof readConfig>;

/** Reads the environment of the single sign-on service in docker-compose.yml. */
export function readConfig(values: NodeJS.ProcessEnv) {
  return {
    issuer: values.ISSUER || "http://localhost:8094",
    audience: values.AUDIENCE || "parley",
    port: Number(values.PORT || 8094),
  };
}
