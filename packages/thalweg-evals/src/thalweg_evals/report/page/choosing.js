// Selects that narrow what is shown down; a select with one choice is not shown at all.

const FIELDS = {
  model: { label: "Model", name: (value) => value },
  trigger: { label: "Trigger", name: triggerName },
  subject: { label: "Subject", name: (value) => value },
  probe: { label: "Probe", name: (value) => value },
  verdict: { label: "Verdict", name: (value) => value },
};

// What is chosen, in words.
function whose({ model, subject, probe, trigger }) {
  return [subject || "all subjects", model || "all models", probe || "all probes",
    trigger === undefined ? "all triggers" : trigger === null ? "compacted at the subject's own trigger"
      : `compacted at ${percent(trigger)} of the window`].join(", ");
}

// Makes a chooser of some fields. Each field is either one value, or all where `all` has it.
function makeChooser(id, fields, { all, trials, change }) {
  const chosen = {};
  const controls = fields.map((field) => {
    const { label, name } = FIELDS[field];
    const found = values((trial) => trial[field], trials);
    const options = [...(all.includes(field) ? [{ value: undefined, name: "All" }] : []),
      ...found.map((value) => ({ value, name: name(value) }))];
    chosen[field] = options.length ? options[0].value : undefined;
    const select = html("select", { id: `${id}-${field}`, on: { change: () => {
      chosen[field] = options[Number(select.value)].value;
      change();
    } } }, options.map((option, k) => html("option", { value: k }, option.name)));
    const set = (value) => {
      const k = Math.max(0, options.findIndex((option) => option.value === value));
      if (!options.length) return;
      select.value = String(k);
      chosen[field] = options[k].value;
    };
    const control = html("div", { class: "control", hidden: found.length < 2 },
      html("label", { for: select.id }, label), select);
    return { field, set, control };
  });
  put(byId(id), {}, controls.map((one) => one.control));
  return {
    chosen,
    shown: () => trials.filter((trial) => fields.every((field) =>
      chosen[field] === undefined || trial[field] === chosen[field])),
    choose: (some) => {
      for (const { field, set } of controls) if (field in some) set(some[field]);
      change();
    },
  };
}
