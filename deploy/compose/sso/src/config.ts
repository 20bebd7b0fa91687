export type Config = ReturnType<typeof readConfig>;

/** What the single sign-on of docker-compose.yml is told; every value has its default there. */
export function readConfig(values: NodeJS.ProcessEnv) {
  return {
    issuer: values.ISSUER || "http://localhost:8094",
    audience: values.AUDIENCE || "parley",
    port: Number(values.PORT || 8094),
  };
}
