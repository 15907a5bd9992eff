import { either, flag, named, orList, type ShapeTable, text, whole } from './shapes.js'

/** What methods and names of fields are made of (RFC 9110 §5.6.2). */
export const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

const addressFix = "give addresses and ranges such as '10.0.0.0/8'"
const pathFix = "give a path such as '/login', '/users/:id' or '/api/*', or a list of these"
const userFix = 'give the text of a user, a list of them, true for any, or false for requests without'
const headerFix = 'give { NAME: value }: a text, a list of them, true where it must be there, false where not'

/** What a request must be for a rule to hold. */
export const matchTable: ShapeTable = {
  method: {
    about: 'The method, or several. GET is HEAD, too.',
    shape: orList(
      text("give a method such as 'POST', or a list", new RegExp(`^${token}$`)),
      "give a method such as 'POST', or a list"
    )
  },
  path: {
    about: "The path: '/login', '/users/:id', or '/api/*' with all below it.",
    shape: orList(text(pathFix, /^\/[^?#\s]*$/), pathFix)
  },
  route: {
    about: "The route's template as the framework has it, such as '/users/:id'.",
    shape: orList(text("give a route's template such as '/users/:id'"), "give a route's template, or a list")
  },
  header: {
    about: 'Header fields by name: a value, several, true (there) or false (not there).',
    shape: named(
      new RegExp(`^${token}$`),
      either([flag, orList(text(headerFix), headerFix)], headerFix),
      headerFix
    )
  },
  user: {
    about: 'Who is logged in: a user, several, true (anybody) or false (nobody).',
    shape: either([flag, orList(either([text(userFix), whole(0)], userFix), userFix)], userFix)
  },
  address: {
    about: "The client's address: addresses and ranges such as '10.0.0.0/8'.",
    shape: orList(text(addressFix), addressFix)
  }
}
