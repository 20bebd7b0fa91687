import { useState } from "react";
import { CopyButton } from "../components/copy-button.tsx";
import { SelectField } from "../components/field.tsx";
import { T, t } from "../i18n/t.tsx";
import backends from "./backends.md?raw";
import { readBackends } from "./read-backends.ts";

/** The environment variable from which the code reads the secret. */
export const SECRET_VARIABLE = "PARLEY_VISITOR_SECRET";

const BACKENDS = readBackends(backends);

/** Code for the backend that signs tokens with a secret. */
export function BackendCode() {
  const [language, setLanguage] = useState(BACKENDS[0]?.language ?? "");
  const code = BACKENDS.find((each) => each.language === language)?.code ?? "";
  return (
    <section className="panel" aria-labelledby="backend-code">
      <h2 id="backend-code">{t("Sign tokens on your backend")}</h2>
      <p className="hint">
        <T
          text="Sign a token for the visitor who is signed in, with the secret in {variable}. Give it to the widget with {call}."
          variable={<code>{SECRET_VARIABLE}</code>}
          call={<code>{"Parley.identify({ visitorId, visitorToken })"}</code>}
        />
      </p>
      <SelectField
        label={t("Language of your backend")}
        options={BACKENDS.map((each) => [each.language, each.language])}
        value={language}
        onChange={setLanguage}
      />
      <div className="snippet">
        <pre dir="ltr">
          {/* Program code breaks between words. */}
          <code style={{ overflowWrap: "anywhere", wordBreak: "normal" }}>{code}</code>
        </pre>
        <CopyButton text={code} label={t("Copy the code")} />
      </div>
    </section>
  );
}
