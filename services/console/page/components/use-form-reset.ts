import { type RefObject, useEffect, useRef } from "react";

/**
 * Returns the ref of a form whose fields are emptied after a success. Resets the form when `isEmpty` becomes true. Without the reset, the browser
 * would mark an emptied field that is required as invalid, although the owner made no mistake.
 */
export function useFormReset(isEmpty: boolean): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!isEmpty) return;
    // Otherwise the reset would choose the first option of each list.
    for (const option of form.current?.querySelectorAll("option") ?? []) option.defaultSelected = option.selected;
    form.current?.reset();
  }, [isEmpty]);
  return form;
}
