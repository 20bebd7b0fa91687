import { Fragment } from "react";

/** Leaves out facts with an empty value. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Shows facts in one line. Each has its own direction, so that a Latin name does not reorder the Arabic facts beside it. Leaves out empty facts. */
export function FactLine({ facts }: { facts: readonly (string | false | undefined)[] }) {
  return facts.filter(Boolean).map((fact, index) => (
    <Fragment key={index}>
      {index > 0 && " · "}
      <bdi>{fact}</bdi>
    </Fragment>
  ));
}
