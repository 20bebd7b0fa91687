import type { RefObject } from "react";
import { Button } from "./button.tsx";

type ShowMoreProps = {
  /** The list that grows. After the next page is loaded, its first new item gets the focus, because the button may have disappeared. */
  list: RefObject<HTMLElement | null>;
  fetchNextPage: () => Promise<unknown>;
  isFetching: boolean;
  label?: string;
};

/** Loads the next page of a list. */
export function ShowMore({ list, fetchNextPage, isFetching, label = "Show more" }: ShowMoreProps) {
  const click = async () => {
    const shown = list.current?.children.length ?? 0;
    await fetchNextPage();
    // React shows the new items in the next frame.
    requestAnimationFrame(() => focusItem(list.current?.children[shown]));
  };
  return (
    <Button className="button more" isDisabled={isFetching} onClick={() => void click()}>
      {isFetching ? "Loading…" : label}
    </Button>
  );
}

function focusItem(item: Element | undefined): void {
  if (!(item instanceof HTMLElement)) return;
  const link = item.querySelector<HTMLElement>("a");
  if (link === null) item.tabIndex = -1;
  (link ?? item).focus();
}
