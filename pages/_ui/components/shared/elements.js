// Make elements. `put` leaves out children that are missing or empty.

const el = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined && text !== null) node.textContent = text;
  return node;
};
const put = (parent, ...children) => { parent.append(...children.filter((c) => c || c === 0)); return parent; };
