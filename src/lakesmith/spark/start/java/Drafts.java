package lakesmith;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;

/** A catalog of tables that are changed in memory, until what they came to is committed elsewhere. */
public final class Drafts implements Catalog {
    /** The tables by namespace and name, joined by a line break. */
    public static final Map<String, Table> TABLES = new ConcurrentHashMap<>();

    @Override
    public String name() {
        return "drafts";
    }

    @Override
    public Table loadTable(TableIdentifier identifier) {
        String namespace = String.join("\n", identifier.namespace().levels());
        Table found = TABLES.get(namespace + "\n" + identifier.name());
        if (found == null) {
            throw new NoSuchTableException("There is no draft of %s", identifier);
        }
        return found;
    }

    @Override
    public List<TableIdentifier> listTables(Namespace namespace) {
        return List.of();
    }

    @Override
    public boolean dropTable(TableIdentifier identifier, boolean purge) {
        throw new UnsupportedOperationException("A draft ends with its batch");
    }

    @Override
    public void renameTable(TableIdentifier from, TableIdentifier to) {
        throw new UnsupportedOperationException("A draft keeps its table's name");
    }
}
