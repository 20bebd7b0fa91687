import { openSecret, type Secret, type SecretOptions, type SecretSource } from "@parley/service-kit";

/** Reads secrets, such as providers' API keys, by the names of their environment variables. */
export type Secrets = {
  /** Returns undefined if neither the variable `name` nor `<name>_FILE` is set. Throws if the file cannot be used. */
  read(name: string): string | undefined;
  /** Calls the listener after each change of a value that was read. */
  onChange(listener: () => void): void;
};

/** Opens each secret when it is first read, because a changed LLM_CONFIG may name other secrets. */
export function openSecrets(find: (name: string) => SecretSource<string> | undefined, options: SecretOptions): Secrets {
  const secrets = new Map<string, Secret<string>>();
  const listeners: (() => void)[] = [];
  const open = (source: SecretSource<string>) => {
    const secret = openSecret(source, options);
    secret.onChange(() => {
      for (const listener of listeners) listener();
    });
    secrets.set(source.name, secret);
    return secret;
  };
  return {
    read(name) {
      const source = find(name);
      return source && (secrets.get(name) ?? open(source)).current();
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
